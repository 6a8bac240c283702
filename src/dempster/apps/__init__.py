"""Applications: recipes of runs (`recipe`), the program (`cli`), the `report` and the `studio`.

Report and studio draw the same map (`map`). Nothing below imports them.
"""
