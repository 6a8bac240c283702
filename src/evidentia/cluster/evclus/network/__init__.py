"""The network of NN-EVCLUS and its training. Needs torch."""
