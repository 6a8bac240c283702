"""T. Denoeux (2017). Workshop on belief functions: clustering. Slides, Chiang Mai University."""

ORDER = 3
MODULES = [
    "partitions",
    "active",
    "descent",
    "growth",
    "large",
    "how_many",
    "neighbors",
    "seeds",
]
PAPER = "Workshop on belief functions: clustering (slides, Denoeux, 2017)"
