"""T. Denoeux (2020). Calibrated model-based evidential clustering using bootstrapping.

Information Sciences 528.
"""

ORDER = 2
MODULES = ["examples", "coverage", "iris", "diabetes", "gvhd"]
PAPER = "Calibrated clustering by bootstrapping (Denoeux, 2020)"
