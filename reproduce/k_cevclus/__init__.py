"""F. Li, S. Li and T. Denoeux (2018).

K-CEVCLUS: constrained evidential clustering of large dissimilarity data.
Knowledge-Based Systems 142."""

ORDER = 1
MODULES = ["tuning", "comparison", "large", "expansion", "explained", "outlook"]
