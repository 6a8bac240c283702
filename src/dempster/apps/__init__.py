"""Applications: recipes of runs (`recipe`), the program (`cli`), the report (`report`) and the studio (`studio`).

Report and studio draw the same map (`map`). Nothing below imports them.
"""
