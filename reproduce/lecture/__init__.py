"""T. Denoeux (2021). Evidential machine learning.

Lecture, Université de technologie de Compiègne.
"""

ORDER = 4
MODULES = [
    "dempster",
    "nearest_neighbours",
    "soft_labels",
    "human_labels",
    "networks",
    "fusion",
    "rejection",
]
MODULES += ["clustering"]
PAPER = "Evidential machine learning (lecture, Denoeux, 2021)"
