"""Figures of the page on EvidenceFromClassifier."""

import warnings

import numpy as np
from _panels import map_of, row
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from dempster.classify import EvidenceFromClassifier

X, y = make_blobs(
    [60, 60, 60], centers=[(0, 0), (3, 0), (1.5, 2.8)], cluster_std=0.8, random_state=0
)


def logistic(C):
    return EvidenceFromClassifier(LogisticRegression(C=C)).fit(X, y)


def probabilities(model, title):
    """Return the same panel for the probabilities, which have no white areas."""

    class Sure:
        """Probabilities as masses on single classes."""

        def predict_mass(self, Z):
            found = model.predict_mass(Z)
            sizes = np.asarray(found.focal_sets.membership).sum(axis=1)
            masses = np.zeros_like(found.masses)
            masses[:, np.flatnonzero(sizes == 1)] = model.predict_proba(Z)
            return type(found)(masses, found.focal_sets)

    return map_of(Sure(), X, y, title, margin=0.1)


usual = logistic(1.0)
row(
    "evidencefromclassifier-masses",
    probabilities(usual, "probabilities"),
    map_of(usual, X, y, "masses: white is doubt", margin=0.1),
    width=4.2,
)
words = ("too small", "about right", "too large")
row(
    "evidencefromclassifier-C",
    *(
        map_of(logistic(C), X, y, f"{w}: C={C}", margin=0.8)
        for w, C in zip(words, (0.002, 1.0, 1000.0), strict=True)
    ),
)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    network = EvidenceFromClassifier(
        MLPClassifier((20,), max_iter=400, random_state=0)
    ).fit(X, y)
row(
    "evidencefromclassifier-far",
    map_of(usual, X, y, "logistic regression", margin=3),
    map_of(network, X, y, "a network with 20 hidden units", margin=3),
    width=4.2,
)
