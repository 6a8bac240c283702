"""Command ``python -m benchmarks.layers``: what an evidential layer gains in a small network.

The networks of the page ``docs/networks.md`` are trained with five seeds on the digits of scikit-learn:
one half of the images without one digit, which differs between seeds. The command writes two tables
of OTHER.md in about three minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.other import write_table
from dempster import MassFunctions
from dempster.nn import (
    EvidentialLayer,
    Fusion,
    contour,
    plausibility_cross_entropy,
    plausibility_squared_error,
    to_masses,
)

N_SEEDS = 5
N_EPOCHS = 20
BATCH_SIZE = 64
N_FEATURES = 16
N_PROTOTYPES = 30
TOLERANCE = 0.8


def make_body(n_pixels: int = 64) -> nn.Sequential:
    """Return the convolutional layers for an image, or for a half of it."""
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(2 * n_pixels, N_FEATURES)),
        nn.BatchNorm1d(N_FEATURES),
    )


def train(
    network: nn.Module, loss: Callable[[Tensor, Tensor], Tensor], x: Tensor, y: Tensor
) -> None:
    optimizer = torch.optim.Adam(network.parameters(), lr=0.005)
    network.train()
    n_batches = len(x) // BATCH_SIZE
    for _ in range(N_EPOCHS):
        # Batches of equal size, because batch normalization fails for a small last batch.
        for rows in torch.randperm(len(x)).chunk(n_batches):
            optimizer.zero_grad()
            loss(x[rows], y[rows]).backward()
            optimizer.step()
    network.eval()


class Halves(nn.Module):
    """Network with a body for each half of the image; the features are joined, or the evidence is combined."""

    def __init__(self, is_evidential: bool):
        super().__init__()
        self.bodies = nn.ModuleList(make_body(32) for _ in range(2))
        self.layers = nn.ModuleList(
            EvidentialLayer(N_FEATURES, 10, N_PROTOTYPES) for _ in range(2)
        )
        self.fusion = Fusion(2, 10)
        self.linear = nn.Sequential(nn.ReLU(), nn.Linear(2 * N_FEATURES, 10))
        self.is_evidential = is_evidential

    def forward(self, halves: list[Tensor | None]) -> Tensor:
        """Return the probabilities of the classes, or the normalized plausibilities."""
        if self.is_evidential:
            return self.fusion(
                [
                    None if half is None else contour(layer(body(half)))
                    for half, body, layer in zip(
                        halves, self.bodies, self.layers, strict=True
                    )
                ]
            )
        features = [
            None if half is None else body(half)
            for half, body in zip(halves, self.bodies, strict=True)
        ]
        present = next(values for values in features if values is not None)
        joined = [
            torch.zeros_like(present) if values is None else values
            for values in features
        ]
        return self.linear(torch.cat(joined, dim=1)).softmax(dim=1)


def split(x: Tensor) -> list[Tensor | None]:
    return [x[:, :, :4], x[:, :, 4:]]


def drop_half(halves: list[Tensor | None]) -> list[Tensor | None]:
    """Remove one of the halves, or none, at random."""
    which = int(torch.randint(3, ()))
    return [None if j == which else half for j, half in enumerate(halves)]


def set_scores(masses: MassFunctions, y: np.ndarray) -> list[float]:
    """Return the share of sets of several classes, and the share of sets that contain the class."""
    chosen = np.asarray(masses.decide_sets(TOLERANCE))
    size = chosen.sum(axis=1)
    return [float((size > 1).mean()), float(chosen[np.arange(len(y)), y].mean())]


def compare_layers(seed: int) -> dict[str, list[float]]:
    """Return accuracy, AUC of the images of the digit left out, and scores of sets."""
    digits: Any = load_digits()
    x = torch.tensor(digits.images[:, None] / 16, dtype=torch.float32)
    left_out = (3 * seed + 1) % 10
    known = np.flatnonzero(digits.target != left_out)
    y = np.where(digits.target > left_out, digits.target - 1, digits.target)
    rows, test = train_test_split(known, test_size=0.5, random_state=seed)
    new = np.flatnonzero(digits.target == left_out)
    is_new = np.r_[np.zeros(len(test)), np.ones(len(new))]
    classes = torch.tensor(y)
    results = {}

    def evaluate(name: str, masses: Tensor, certainty: Tensor) -> None:
        accuracy = float((masses[test, :9].argmax(dim=1).numpy() == y[test]).mean())
        auc = roc_auc_score(is_new, -certainty[np.r_[test, new]].numpy())
        found = to_masses(masses[test]).to_numpy()
        results[name] = [accuracy, auc, *set_scores(found, y[test])]

    torch.manual_seed(seed)
    plain = nn.Sequential(make_body(), nn.ReLU(), nn.Linear(N_FEATURES, 9))
    train(plain, lambda a, b: F.cross_entropy(plain(a), b), x[rows], classes[rows])
    with torch.no_grad():
        probabilities = plain(x).softmax(dim=1)
    padded = torch.cat([probabilities, torch.zeros(len(x), 1)], dim=1)
    evaluate("softmax", padded, probabilities.amax(dim=1))
    losses = {
        "layer, cross-entropy": plausibility_cross_entropy,
        "layer, squared error": plausibility_squared_error,
    }
    for name, loss in losses.items():
        torch.manual_seed(seed)
        network = nn.Sequential(
            make_body(), EvidentialLayer(N_FEATURES, 9, N_PROTOTYPES)
        )
        train(
            network,
            lambda a, b, network=network, loss=loss: loss(contour(network(a)), b),  # type: ignore[misc]
            x[rows],
            classes[rows],
        )
        with torch.no_grad():
            masses = network(x)
        evaluate(f"{name}, largest mass", masses, masses[:, :9].amax(dim=1))
        evaluate(f"{name}, m(Ω)", masses, -masses[:, 9])
    return results


def compare_fusion(seed: int) -> dict[str, list[float]]:
    """Return the accuracy with both halves, with the upper half and with the lower half."""
    digits: Any = load_digits()
    x = torch.tensor(digits.images[:, None] / 16, dtype=torch.float32)
    y = torch.tensor(digits.target)
    rows, test = train_test_split(
        np.arange(len(x)), test_size=0.5, random_state=seed, stratify=digits.target
    )
    upper, lower = split(x[test])
    results = {}
    for name, is_evidential, drops in (
        ("joined features", False, False),
        ("joined features, trained with missing halves", False, True),
        ("fusion", True, False),
        ("fusion, trained with missing halves", True, True),
    ):
        torch.manual_seed(seed)
        network = Halves(is_evidential)

        def loss(a: Tensor, b: Tensor, network: Any = network, drops: bool = drops):
            halves = drop_half(split(a)) if drops else split(a)
            return plausibility_cross_entropy(network(halves), b)

        train(network, loss, x[rows], y[rows])
        with torch.no_grad():
            predicted = [
                network(halves).argmax(dim=1)
                for halves in ([upper, lower], [upper, None], [None, lower])
            ]
        results[name] = [float((p == y[test]).double().mean()) for p in predicted]
    return results


def write(title: str, heads: list[str], runs: list[dict[str, list[float]]]) -> None:
    rows = []
    for name in runs[0]:
        values = np.array([run[name] for run in runs])
        means = values.mean(axis=0)
        deviations = values.std(axis=0, ddof=1)
        cells = zip(means, deviations, strict=True)
        rows.append([name, *(f"{mean:.3f} ± {sd:.3f}" for mean, sd in cells)])
    write_table(title, ["network", *heads], rows)


def main() -> None:
    """Write the tables."""
    torch.set_num_threads(1)
    heads = [
        "accuracy",
        "AUC, digit left out",
        "sets of several",
        "sets with the digit",
    ]
    write("Evidential layers", heads, [compare_layers(seed) for seed in range(N_SEEDS)])
    heads = ["both halves", "upper half", "lower half"]
    write(
        "Fusion of two halves", heads, [compare_fusion(seed) for seed in range(N_SEEDS)]
    )


if __name__ == "__main__":
    main()
