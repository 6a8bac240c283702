"""The network of NN-EVCLUS and its training; torch is needed for `_torch_network` alone."""
