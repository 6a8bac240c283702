"""EVCLUS and NN-EVCLUS, which compute masses whose degrees of conflict match the dissimilarities between objects."""
