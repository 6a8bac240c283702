"""The evidential K nearest neighbour rule for neighbours whose labels are mass functions themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize_scalar

from dempster._errors import InvalidInputError
from dempster.belief import FocalSets, MassFunctions
from dempster.belief.focal_sets import inside
from dempster.optimize.descent import Run

__all__ = ["SoftLabels", "best_scale"]

_MOST_SETS = 4_096
_BLOCK = 2_000_000  # numbers held at a time
_OCTAVES = np.arange(-2, 7)  # not lower: labels would count however far their objects are


class SoftLabels:
    """Labels of the training objects, ready to be discounted by distance and combined by Dempster's rule.

    A neighbour at distance d keeps the share phi(d) of its label and gives the rest to the whole frame, so that its
    commonalities are 1 - phi (1 - q*). Dempster's rule multiplies them; all happens on the smallest family that holds
    the focal sets of the labels, the frame, and all their intersections (Denoeux, 1995, section III).

    Attributes
    ----------
    family : FocalSets
    missing : (n, f) array
        1 - q* of each label.
    _supersets : (f, f) array
    """

    family: FocalSets

    def __init__(self, labels: MassFunctions):
        self.family = _closed(labels.focal_sets)
        on_family = labels.on(self.family).masses
        supersets = inside(self.family.membership, self.family.membership).astype(float)  # [a, b]: a is inside b
        self.missing = 1.0 - on_family @ supersets.T  # 1 - q*, the same for sets in no label
        self._supersets = supersets

    def masses(self, neighbours: np.ndarray, supports: np.ndarray) -> np.ndarray:
        """(n, f) masses from the (n, K) positions of neighbours and the shares phi of their labels that count."""
        out = np.empty((len(neighbours), len(self.family)))
        size = max(1, _BLOCK // (neighbours.shape[1] * len(self.family)))
        for begin in range(0, len(out), size):
            rows = slice(begin, begin + size)
            logs = np.log1p(-supports[rows, :, None] * self.missing[neighbours[rows]]).sum(axis=1)
            commonality = np.exp(logs - logs.max(axis=1, keepdims=True))  # scaled: the masses are normalised anyway
            masses = solve_triangular(self._supersets, commonality.T, lower=False, unit_diagonal=True).T
            out[rows] = np.maximum(masses, 0)
        return out / out.sum(axis=1, keepdims=True)

    def share(self) -> np.ndarray:
        """(f, M) how pignistic probabilities share the mass of each set."""
        return self.family.membership / self.family.cardinality[:, None]


def _closed(family: FocalSets) -> FocalSets:
    """The sets, the whole frame, and every nonempty intersection, by cardinality."""
    sets = {frozenset(members) for members in family} | {frozenset(range(family.n_clusters))}
    sets.discard(frozenset())
    given = fresh = sets
    while fresh:
        fresh = {a & b for a in given for b in fresh} - sets - {frozenset()}
        sets = sets | fresh
        if len(sets) > _MOST_SETS:
            raise InvalidInputError(
                f"y has soft labels whose sets have more than {_MOST_SETS} intersections; use fewer focal sets"
            )
    return FocalSets.from_sets(family.n_clusters, [tuple(sorted(members)) for members in sets]).sorted()


def best_scale(cost: Callable[[float], float], start: float, *, max_iter: int, tol: float) -> Run[float]:
    """Minimise a cost over one positive number: the best power of two times the start, then Brent's method around it.

    The history holds the smallest cost so far.
    """
    run = Run(start)
    logs = np.log(start) + np.log(2.0) * _OCTAVES
    costs = [cost(float(np.exp(x))) for x in logs]
    best = int(np.argmin(costs))
    run.history = np.minimum.accumulate(costs).tolist()
    around = (logs[max(best - 1, 0)], logs[min(best + 1, len(logs) - 1)])
    values: list[float] = []

    def followed(x: float) -> float:
        values.append(cost(float(np.exp(x))))
        return values[-1]

    found = minimize_scalar(followed, bounds=around, method="bounded", options={"xatol": tol, "maxiter": max_iter})
    run.history += np.minimum(np.minimum.accumulate(values), run.history[-1]).tolist()
    run.model = float(np.exp(found.x if found.fun < costs[best] else logs[best]))
    run.converged = bool(found.success)
    return run
