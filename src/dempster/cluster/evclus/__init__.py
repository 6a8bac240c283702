"""EVCLUS and NN-EVCLUS, which compute masses whose conflicts match the dissimilarities."""
