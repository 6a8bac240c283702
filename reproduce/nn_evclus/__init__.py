"""T. Denoeux (2021). NN-EVCLUS: neural network-based evidential clustering.

Information Sciences 572.
"""

ORDER = 0
MODULES = [
    "butterfly",
    "fourclass",
    "circles",
    "attribute_data",
    "identification",
    "dissimilarity_data",
    "prediction",
    "all_methods",
    "constrained",
    "explained",
]
