"""Dissimilarities of digits, and predictions for half of a matrix."""

from __future__ import annotations

from functools import cache
from time import process_time
from typing import Any

import numpy as np
from scipy.ndimage import distance_transform_edt
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from dempster.cluster import EVCLUS, NNEVCLUS, Training
from dempster.dissimilarity import DissimilarityPCA
from reproduce.data import dissimilarity_file, stored

STAND_INS = ("pen strokes, DTW", "MNIST, chamfer")
METHODS = (
    "NN-EVCLUS, paper",
    "NN-EVCLUS, ours",
    "EVCLUS, nearest object",
    "k-means on the components",
)
# Components, hidden units and quantile of d0, as in Table 5; the settings of Zongker for the
# stand-ins.
SETTINGS = {
    "ChickenPieces": (5, 30, 0.2),
    "Zongker": (20, 50, 0.3),
    "Gestures": (20, 50, 0.2),
}


def _digits(name: str, per_class: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw equally many objects of each digit with a fixed seed."""
    data = stored(name)
    rng = np.random.default_rng(0)
    kept = np.concatenate(
        [
            rng.choice(np.flatnonzero(data["y"] == k), per_class, replace=False)
            for k in range(10)
        ]
    )
    return data["X"][kept].astype(float), data["y"][kept]


def warped_distances(strokes: np.ndarray) -> np.ndarray:
    """Return the dynamic time warping distances of sequences of points, shape (n, length, dimension).

    The distance is the smallest sum of Euclidean distances along a monotone alignment of all
    points.
    """
    n, length, _ = strokes.shape
    D = np.zeros((n, n))
    for i in range(n - 1):
        # (n - i - 1, length, length)
        costs = np.linalg.norm(strokes[i][:, None] - strokes[i + 1 :, None], axis=-1)
        total = np.full((length + 1, length + 1, n - i - 1), np.inf)
        total[0, 0] = 0
        for a in range(length):
            for b in range(length):
                before = np.minimum(
                    np.minimum(total[a, b], total[a, b + 1]), total[a + 1, b]
                )
                total[a + 1, b + 1] = costs[:, a, b] + before
        D[i, i + 1 :] = total[-1, -1]
    return D + D.T


def chamfer_distances(images: np.ndarray) -> np.ndarray:
    """Return the chamfer distances of binary images, shape (n, height, width).

    The distance of two images is the mean distance from the ink of one to the nearest ink of the
    other, averaged over both directions.
    """
    ink = images.reshape(len(images), -1).astype(float)
    # distance to the nearest ink
    far = np.array([distance_transform_edt(~image).ravel() for image in images])
    directed = ink / ink.sum(axis=1, keepdims=True) @ far.T
    return (directed + directed.T) / 2


@cache
def matrix(name: str, per_class: int) -> tuple[np.ndarray, np.ndarray]:
    """Return dissimilarities and classes."""
    if name == STAND_INS[0]:
        X, y = _digits("pendigits", per_class)
        return warped_distances(X.reshape(len(X), 8, 2)), y
    if name == STAND_INS[1]:
        X, y = _digits("mnist_test", per_class)
        return chamfer_distances(X.reshape(len(X), 28, 28) >= 128), y
    return dissimilarity_file(name)


def deviation(name: str, per_class: int) -> dict[str, Any]:
    """Return the proportions of triples that violate the triangle inequality and of negative eigenvalues (absolute)."""
    D, _ = matrix(name, per_class)
    n = len(D)
    i, j, k = np.random.default_rng(0).integers(n, size=(3, 1_000_000))
    distinct = (i != j) & (j != k) & (i != k)
    violated = D[i, j] > (D[i, k] + D[k, j]) * (1 + 1e-12)
    center = np.eye(n) - 1 / n
    eigenvalues = np.linalg.eigvalsh(-center @ D**2 @ center / 2)
    return {
        "triangles": float(violated[distinct].mean()),
        "negative": float(
            -eigenvalues[eigenvalues < 0].sum() / np.abs(eigenvalues).sum()
        ),
        "n": n,
    }


def half(name: str, method: str, per_class: int, seed: int) -> dict[str, Any]:
    """Train on a random half; return the ARI of both halves."""
    D, y = matrix(name, per_class)
    order = np.random.default_rng(seed).permutation(len(D))
    known = order[: len(D) // 2]
    new = order[len(D) // 2 :]
    train = D[np.ix_(known, known)]
    test = D[np.ix_(new, known)]
    began = process_time()
    labels = _predict(
        method,
        train,
        test,
        len(np.unique(y)),
        SETTINGS.get(name, SETTINGS["Zongker"]),
        seed,
    )
    scores = [
        float(adjusted_rand_score(y[rows], found))
        for rows, found in zip((known, new), labels, strict=True)
    ]
    return {"train": scores[0], "test": scores[1], "seconds": process_time() - began}


def _predict(
    method: str, train: np.ndarray, test: np.ndarray, c: int, settings: Any, seed: int
) -> tuple[Any, Any]:
    """Return the labels of the training objects and of the new objects."""
    components, units, quantile = settings
    shared: dict[str, Any] = {"random_state": seed, "n_jobs": 1}
    if method.startswith("EVCLUS"):
        model = EVCLUS(
            c, metric="precomputed", focal_sets="simple", d0_quantile=quantile, **shared
        ).fit(train)
        return model.labels_, model.labels_[test.argmin(axis=1)]
    pca = DissimilarityPCA(components, random_state=seed).fit(train)
    attributes = pca.transform(train)
    new = pca.transform(test)
    if method.startswith("k-means"):
        means = KMeans(c, n_init=10, random_state=seed).fit(attributes)
        return means.labels_, means.predict(new)
    own: dict[str, Any] = {"network": units}
    if method.endswith("paper"):
        solver = Training("rmsprop", batch_size=len(train) // 10, learning_rate=0.001)
        own |= {
            "focal_sets": "simple",
            "d0_quantile": quantile,
            "init": "random",
            "max_iter": 5000,
            "training": solver,
        }
    network = NNEVCLUS(c, **own, **shared).fit(attributes, dissimilarities=train)
    return network.labels_, network.predict_mass(new).labels
