"""A network first learns the masses of a partition, so that it starts where EVCLUS ended."""

from __future__ import annotations

import numpy as np

from dempster.cluster._starts import order_along_line
from dempster.cluster.evclus.network._objective import Network, NetworkInputs
from dempster.cluster.evclus.network._trainers import Adam, falling
from dempster.optimize.lbfgs import minimize_lbfgs

__all__ = ["learn_masses", "learn_masses_in_batches"]

_ITERATIONS = 150
_GAIN = 1e-6
_OBJECTS = 3000
_STEPS = 1000
_RATE = 5e-3


def learn_masses(network: Network, inputs: NetworkInputs, masses: np.ndarray, rng: np.random.Generator) -> None:
    """By L-BFGS, from all objects or, of many, some of them: it is only where the training starts.

    The objects are taken in a fixed order: so many steps would magnify the rounding of another.
    """
    n, arrays = len(masses), inputs.arrays
    who = order_along_line(inputs.values.reshape(n, -1))
    if n > _OBJECTS:
        who = who[np.sort(rng.choice(n, _OBJECTS, replace=False))]
    x, wanted = inputs.objects(who), arrays.array(masses[who])

    def evaluate(weights: np.ndarray) -> tuple[float, np.ndarray]:
        network.weights = arrays.array(weights)
        value, gradient = network.taught(x, wanted)
        return float(value), arrays.to_host(gradient).astype(np.float64)

    network.weights = arrays.array(
        minimize_lbfgs(evaluate, arrays.to_host(network.weights), max_iter=_ITERATIONS, tol=_GAIN).model
    )


def learn_masses_in_batches(
    network: Network, inputs: NetworkInputs, masses: np.ndarray, batch_size: int, rng: np.random.Generator
) -> None:
    """By Adam: a network of the user's may be large, and draw numbers or learn from batches."""
    n, adam = len(masses), Adam(network, inputs.arrays)
    order, at = rng.permutation(n), 0
    network.train()
    for step in range(_STEPS):
        if at + batch_size > n:
            order, at = rng.permutation(n), 0
        who = order[at : at + batch_size]
        at += batch_size
        _, gradient = network.taught(inputs.objects(who), inputs.arrays.array(masses[who]))
        adam.step(gradient, falling(_RATE, step, _STEPS))
    network.eval()
