"""EVCLUS and NN-EVCLUS: degrees of conflict between masses match the dissimilarities."""
