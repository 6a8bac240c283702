"""Where EM begins: partitions from a tree of merges or from k-means, given responsibilities, labels or parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import as_labels, as_reals, mean_of_rows, reading_labels
from dempster.belief import MassFunctions
from dempster.mixture.em import EMResult, GaussianParameters, fit_em
from dempster.mixture.hierarchical import MergeTree, merge_tree
from dempster.optimize.descent import as_likely
from dempster.optimize.k_means import k_means

__all__ = ["Start", "Starts"]

_TREE_LIMIT = 2000  # objects in a tree of merges, which is quadratic, as in mclust
_TREE_SAMPLE = 1000  # objects that stand for more than that
_PARTITIONS = 5  # of k-means, the best of which competes with the tree of a sample
_FIRST_ITERATIONS = 10  # over which starts compete
_TREE_MODEL = {"hierarchical": "VVV", "ward": "EII"}


@dataclass(frozen=True, eq=False)
class Start:
    """Responsibilities of all objects, or of a sample of them (``data``), or parameters."""

    state: np.ndarray | GaussianParameters
    data: np.ndarray | None = None

    def fit(self, data: np.ndarray, weights: np.ndarray | None, model: str, **settings: Any) -> EMResult:
        state = self.state
        if self.data is not None and isinstance(state, np.ndarray):
            first = fit_em(self.data, None, state, model, **{**settings, "max_iter": 1})
            if first.parameters is None:
                return first
            state = first.parameters
        return fit_em(data, weights, state, model, **settings)


def _gone_on(begun: EMResult, data: np.ndarray, weights: np.ndarray | None, model: str, **settings: Any) -> EMResult:
    """The run to its end."""
    left = settings["max_iter"] - begun.n_iter
    if begun.parameters is None or begun.converged or left == 0:
        return begun
    rest = fit_em(data, weights, begun.parameters, model, **{**settings, "max_iter": left})
    history = np.concatenate([begun.history, rest.history])
    return replace(rest, n_iter=begun.n_iter + rest.n_iter, history=history)


class Starts:
    """Starts for every number of components: what can be shared between them is computed once."""

    def __init__(self, data: np.ndarray, weights: np.ndarray | None, init: Any, n_init: int, rng: Any):
        self.data, self.weights, self.n_init, self.rng = data, weights, n_init, rng
        if isinstance(init, GaussianParameters):
            init = _checked_parameters(init, data.shape[1])
        elif not isinstance(init, str):
            init = _responsibilities(init, len(data))
        self.init: str | np.ndarray | GaussianParameters = init
        self._tree: tuple[MergeTree, np.ndarray | None] | None = None
        self._ordered: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def given_components(self) -> int | None:
        """The number of components of a given start."""
        if isinstance(self.init, str):
            return None
        return len(self.init.proportions) if isinstance(self.init, GaussianParameters) else self.init.shape[1]

    def of(self, n_components: int) -> Sequence[Start]:
        """One start, or ``n_init`` of them from k-means; where a sample stands for many objects, its tree and k-means
        of all of them."""
        if not isinstance(self.init, str):
            return [Start(self.init)]
        if n_components == 1:
            return [Start(np.ones((len(self.data), 1)))]
        if self.init == "k-means":
            return [self._partition(n_components, 1) for _ in range(self.n_init)]
        tree, sample = self._merge_tree(_TREE_MODEL[self.init])
        merged = Start(one_hot(tree.labels(n_components), n_components), sample)
        return [merged] if sample is None else [merged, self._partition(n_components, _PARTITIONS)]

    def best_run(self, starts: Sequence[Start], model: str, **settings: Any) -> EMResult:
        """EM from the best of these starts: by the likelihood at the end of runs from k-means, by that after a few
        iterations of a tree and k-means, then from the next if a component collapses."""
        if len(starts) == 1 or self.init == "k-means":
            runs = [start.fit(self.data, self.weights, model, **settings) for start in starts]
            # starts often end at the same place up to rounding, which must not decide how components are numbered
            best = as_likely([run.log_likelihood for run in runs], float(self._in_order()[2].sum()))
            return runs[best[0]]
        few = {**settings, "max_iter": min(_FIRST_ITERATIONS, settings["max_iter"])}
        begun = [start.fit(self.data, self.weights, model, **few) for start in starts]
        begun.sort(key=lambda run: -run.log_likelihood)
        ended = (_gone_on(run, self.data, self.weights, model, **settings) for run in begun)
        return next((run for run in ended if run.problem is None), begun[0])

    def _merge_tree(self, model: str) -> tuple[MergeTree, np.ndarray | None]:
        if self._tree is None:
            rows = self._sampled_rows()
            if rows is None:
                self._tree = merge_tree(self.data, model=model, sample_weight=self.weights), None
            else:
                sample = self.data[rows]
                self._tree = merge_tree(sample, model=model), sample
        return self._tree

    def _sampled_rows(self) -> np.ndarray | None:
        """Rows of a sample spread evenly along a projection, in proportion to the weights; None: all of them."""
        order, _, w = self._in_order()
        if len(order) <= _TREE_LIMIT:
            return None
        reach = np.cumsum(w)
        at = (np.arange(_TREE_SAMPLE) + self.rng.random_sample(_TREE_SAMPLE)) / _TREE_SAMPLE * reach[-1]
        return order[np.searchsorted(reach, at, side="right").clip(max=len(order) - 1)]

    def _in_order(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows of positive weight in the order of a projection, standardised data and weights in that order.

        Random choices are made along it, so that permuting the rows, or repeating them instead of giving them a
        weight, leads to the same start.
        """
        if self._ordered is None:
            w = np.ones(len(self.data)) if self.weights is None else self.weights
            mean = mean_of_rows(self.data, w)
            deviation = np.sqrt(np.average((self.data - mean) ** 2, axis=0, weights=w))
            scaled = (self.data - mean) / np.where(deviation > 0, deviation, 1.0)
            order = np.argsort(scaled @ np.random.RandomState(0).normal(size=scaled.shape[1]), kind="stable")
            order = order[w[order] > 0]
            self._ordered = order, scaled[order], w[order]
        return self._ordered

    def _partition(self, n_components: int, runs: int) -> Start:
        """The best of some runs of k-means."""
        order, scaled, w = self._in_order()
        found = [k_means(scaled, n_components, self.rng, w) for _ in range(runs)]
        _, best = min(found, key=lambda each: np.dot(w, np.square(scaled - each[0][each[1]]).sum(axis=1)))
        labels = np.full(len(self.data), -1)
        labels[order] = best
        return Start(one_hot(labels, n_components))


def one_hot(labels: np.ndarray, n_components: int) -> np.ndarray:
    """(n, g) responsibilities of a partition; none for objects whose label is -1."""
    return (labels[:, None] == np.arange(n_components)).astype(np.float64)


def _responsibilities(init: Any, n: int) -> np.ndarray:
    """A given start as responsibilities: labels, or an (n, g) array."""
    if isinstance(init, MassFunctions):
        raise InvalidInputError(
            f"init must hold labels or responsibilities, got a {type(init).__name__}, whose columns are sets: give its "
            "pignistic(), or its labels"
        )
    with reading_labels(init, "init"):
        array = np.asarray(init)
    if array.ndim not in (1, 2) or len(array) != n:
        raise InvalidInputError(
            f"init must hold labels ({n},) or responsibilities ({n}, n_components), got shape {array.shape}"
        )
    if array.ndim == 1:
        with reading_labels(init, "init"):
            different, labels = np.unique(as_labels(init, "init"), return_inverse=True)
        return one_hot(labels, len(different))
    array = as_reals(init, "init").astype(np.float64)
    if not np.isfinite(array).all() or (array < 0).any() or not np.allclose(array.sum(axis=1), 1, atol=1e-6):
        raise InvalidInputError("init must hold responsibilities that are nonnegative and sum to one in every row")
    return array


def _checked_parameters(init: GaussianParameters, d: int) -> GaussianParameters:
    g = len(init.proportions)
    shapes = np.shape(init.means), np.shape(init.covariances)
    if shapes != ((g, d), (g, d, d)):
        raise InvalidInputError(
            f"init must hold means of shape {(g, d)} and covariances of shape {(g, d, d)}, "
            f"got {shapes[0]} and {shapes[1]}"
        )
    return init
