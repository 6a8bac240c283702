"""Masses whose conflicts match the dissimilarities: EVCLUS, and the network that does the same."""
