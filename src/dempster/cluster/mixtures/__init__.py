"""Methods built on Gaussian mixtures."""
