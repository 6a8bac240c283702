"""A partition in rules: a small tree whose leaves answer clusters, or sets of them where they cannot tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster._fitting import fit_transaction
from dempster._site import DocumentedEstimator
from dempster._types import ArrayLike, TableLike
from dempster._validation import object_index, object_weights, ordered_like
from dempster.belief import FocalSets
from dempster.explain._subject import joined_attributes, matched_partition, read_attributes
from dempster.explain._tree.columns import column_values, split_columns
from dempster.explain._tree.growth import Node, goes_left, grow
from dempster.explain._tree.mistakes import mistakes, overlaps
from dempster.explain._tree.nodes import TreeNode, rule_words, tree_text
from dempster.explain._tree.pruning import costs_by_leaves, prune
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CautiousTree"]

_SPARE = 8  # leaves that are grown beyond four times those kept, for pruning to choose from
_NEGLIGIBLE = 1e-3  # share of the spread of the masses that growing may ignore
_TIE = 1e-9  # mistakes of an object: answers nearer than this are equally good
_MOST_PAIRED = 100  # clusters, all pairs of which may be answers
_LEAST_CAUTION = 1e-3  # so that a set is told from its parts, and from larger ones, whatever the caution


class CautiousTree(DocumentedEstimator, BaseEstimator):
    """A credal partition in a few rules: a decision tree whose leaves answer sets of clusters.

    Where a leaf holds objects that are certainly in one cluster it answers this cluster; where they are ambiguous, or
    of several clusters, it may answer a set; of outliers, that they belong to no cluster. Answering A to an object of
    the set B is a mistake of

        caution |B \\ A| / |B|  +  (1 - caution) |A \\ B| / |A|,

    and a leaf answers the set (a focal set, a pair of clusters or all of them) of smallest mean mistake under the
    masses of its objects. The tree is grown best first, by splits that make the masses in a leaf alike (in the metric
    of Jousselme), to more leaves than wanted, and cut back to the subtree of at most ``max_leaves`` leaves that makes
    the fewest mistakes, by dynamic programming.

    Parameters
    ----------
    max_leaves : int or "auto", default="auto"
        Most leaves; fewer where further ones would not lower the mistakes. "auto": as many as there are sets that
        are the answer (largest mass) of enough objects for a leaf.
    caution : float in [0, 1], default=0.5
        How readily a leaf answers a set rather than one cluster: 0 for one cluster unless its objects are ambiguous
        themselves; 1 for everything that is possible. (0.001 and 0.999 in the formula, which would not tell a pair from
        one of its clusters.)
    max_depth : int or None, default=None
        Most conditions of a rule.
    min_samples_leaf : int, or float in (0, 0.5], default=0.01
        Fewest objects of a leaf, or their share of all objects, rounded down but at least one.

    Attributes
    ----------
    fidelity_ : float
        Mean over the objects of (|A n B| / |A| + |A n B| / |B|) / 2, with A the answer of its leaf and B the object's
        own, its set of largest mass: 1 where they are the same, 3/4 where one is a cluster and the other a pair that
        holds it, 0 where they have nothing in common. It does not depend on ``caution``.
    scores_ : dict of str to float
        Stricter: "same_set", share of the objects whose answers are the same; "compatible", share whose answers have
        a cluster in common, or are both that there is none; "same_label", share whose cluster of largest plausibility
        is the same; "distance", mean distance of Jousselme et al. of the masses.
    mistakes_by_leaves_ : array of shape (max_leaves,), or (n_samples,) if that is shorter
        Smallest mean mistake with at most 1, 2, ... leaves: where it stops falling, more rules explain no more.
    nodes_ : tuple of nodes
        From the root, each before its children, with their ``number``, ``depth``, ``children``, ``condition(left)``,
        ``n_objects``, ``share``, ``mass``, ``answer`` (the set, if it is a leaf), ``set_shares`` and ``fidelity``.
    focal_sets_ : FocalSets
    frame_ : tuple
        Names of the clusters.
    n_clusters_, n_features_in_ : int
    feature_names_in_ : array of str
        If X had names of columns.

    Notes
    -----
    Columns may be numbers, Booleans or categories, and cells may be missing: at each split missing values go to the
    side where they fit best, and the rule says so; if there were none in `fit`, to the side of more objects. A new
    category is none of the known ones. Of a column of more than about 500 different values, quantiles are tried as
    thresholds. A threshold is the roundest number between the values on its two sides.

    References
    ----------
    V. F. Lopes de Souza, K. Bakhti, S. Ramdani, D. Mottet and A. Imoussaten (2025). Explainable evidential clustering.
    arXiv:2507.12192 (the idea: a tree of few mistakes, in an evidential sense; growth and pruning are different here).

    A.-L. Jousselme, D. Grenier and E. Bosse (2001). A new distance between two bodies of evidence. Information
    Fusion 2.

    Examples
    --------
    >>> from dempster.cluster import EVCLUS
    >>> from dempster.datasets import load_iris
    >>> from dempster.explain import CautiousTree
    >>> X = load_iris(as_frame=True).data
    >>> model = EVCLUS(3, random_state=0).fit(X)
    >>> tree = CautiousTree(max_leaves=4).fit(X, model)
    >>> tree.fidelity_ > 0.9
    True
    """

    _rules = {
        "max_leaves": rule.choice("auto") | rule.integer(1),
        "caution": rule.real(0, 1),
        "max_depth": rule.choice(None) | rule.integer(1),
        "min_samples_leaf": rule.integer(1) | rule.real(0, 0.5, open_low=True),
    }

    def __init__(
        self,
        max_leaves: int | str = "auto",
        *,
        caution: float = 0.5,
        max_depth: int | None = None,
        min_samples_leaf: int | float = 0.01,
    ):
        self.max_leaves = max_leaves
        self.caution = caution
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf

    # ---- fitting --------------------------------------------------------------------------------------------------

    def fit(self, X: TableLike, y: Any, sample_weight: ArrayLike = None) -> Self:
        """Find the rules.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Any attributes of the objects, those that were clustered or others. Several tables, a list or a dictionary,
            are taken side by side, their columns called "view: column".
        y : CredalPartition, estimator that has one, MassFunctions, or labels
            The partition to explain. Objects with names are matched with the rows of X by their names.
        sample_weight : array-like of shape (n_samples,), optional
        """
        with fit_transaction(self) as draft:
            draft._find_rules(X, y, sample_weight)
        return self

    def _find_rules(self, X: TableLike, y: Any, sample_weight: ArrayLike) -> None:
        rule.check_parameters(self, self._rules)
        X = joined_attributes(X, y, "y")
        table = read_attributes(X)
        n = len(table[0])
        if y is None:
            raise InvalidInputError(
                "CautiousTree requires y to be passed, but the target y is None: it must be a partition"
            )
        credal = matched_partition(y, X, n, "y")
        weights = object_weights(ordered_like(sample_weight, object_index(X)), n)
        validate_data(self, X, skip_check_array=True)
        self.n_features_in_ = len(table)
        self.focal_sets_, self.frame_, self.n_clusters_ = credal.focal_sets, credal.frame, credal.n_clusters
        least = int(self.min_samples_leaf) if self.min_samples_leaf >= 1 else max(1, int(n * self.min_samples_leaf))
        kept = np.arange(n) if weights is None else np.flatnonzero(weights)
        counts = np.bincount(credal.best_set[kept], minlength=len(self.focal_sets_))
        most = max(1, int((counts >= least).sum())) if self.max_leaves == "auto" else int(self.max_leaves)
        most = min(most, max(1, len(kept)))  # a leaf holds an object
        self._columns = split_columns(table, least)
        values = column_values(table, self._columns)
        weight = np.ones(n) if weights is None else weights
        masses = np.asarray(credal.masses, dtype=float)[kept]
        root = grow(
            values[kept],
            _alike(masses, self.focal_sets_),
            weight[kept],
            n_leaves=min(4 * most + _SPARE, len(kept)),
            least=least,
            depth=self.max_depth or n,
        )
        answers = self._prune(root, masses * weight[kept, None], most)
        self._set_nodes(root, answers, credal, kept, weight)
        self._set_scores(credal, values, weights)

    def _prune(self, root: Node, weighted: np.ndarray, most: int) -> dict[int, tuple[int, ...]]:
        """Cut the tree back; the set of smallest mistakes of each node, by its id."""
        family = self.focal_sets_
        candidates = family.sorted()  # ties go to smaller sets
        if 1 < family.n_clusters <= _MOST_PAIRED:
            candidates = family.union(FocalSets.pairs(family.n_clusters, empty=False)).sorted()
        caution = float(np.clip(self.caution, _LEAST_CAUTION, 1 - _LEAST_CAUTION))
        loss = mistakes(candidates.membership, family.membership, caution)
        sets, answers, cost = list(candidates), {}, {}
        for node in _depth_first(root):
            expected = loss @ weighted[node.rows].sum(axis=0)
            chosen = int(np.flatnonzero(expected <= expected.min() + _TIE * len(node.rows))[0])
            answers[id(node)], cost[id(node)] = sets[chosen], float(expected[chosen])
        table = costs_by_leaves(root, cost, most)
        smallest = table[id(root)]
        self.mistakes_by_leaves_ = np.pad(smallest, (0, most - len(smallest)), mode="edge") / weighted.sum()
        prune(root, table, most)
        return answers

    def _set_nodes(
        self, root: Node, answers: dict[int, tuple[int, ...]], credal: CredalPartition, kept: np.ndarray, weight: Any
    ) -> None:
        order = list(_depth_first(root))
        number = {id(node): k for k, node in enumerate(order)}
        own = credal.assignment()
        nodes = []
        for node in order:
            rows = kept[node.rows]
            shares = np.bincount(credal.best_set[rows], weights=weight[rows], minlength=len(self.focal_sets_))
            mean = np.average(np.asarray(credal.masses[rows], dtype=float), axis=0, weights=weight[rows])
            answer = np.zeros((1, self.n_clusters_), dtype=bool)
            answer[0, list(answers[id(node)])] = True
            nodes.append(
                TreeNode(
                    number=number[id(node)],
                    depth=node.depth,
                    children=tuple(number[id(child)] for child in node.children),
                    column=self._columns[node.column] if node.children else None,
                    threshold=node.threshold if node.children else np.nan,
                    missing_left=node.missing_left,
                    saw_missing=node.saw_missing and bool(node.children),
                    n_objects=len(rows),
                    share=float(weight[rows].sum() / weight[kept].sum()),
                    mass=mean / mean.sum(),
                    answer=answers[id(node)],
                    set_shares=shares / shares.sum(),
                    fidelity=float(np.average(overlaps(answer, own[rows]), weights=weight[rows])),
                )
            )
        self.nodes_ = tuple(nodes)

    def _set_scores(self, credal: CredalPartition, values: np.ndarray, weights: np.ndarray | None) -> None:
        leaf = self._leaf_of(values)
        answer, own = self._answers()[leaf], credal.assignment()
        masses = np.array([node.mass for node in self.nodes_])
        apart = np.asarray(credal.masses, dtype=float) - masses[leaf]
        squares = np.einsum("if,if->i", apart @ np.asarray(self.focal_sets_.jaccard), apart) / 2
        measures = {
            "same_set": (answer == own).all(axis=1),
            "compatible": (answer & own).any(axis=1) | ~(answer.any(axis=1) | own.any(axis=1)),
            "same_label": self._labels()[leaf] == credal.labels,
            "distance": np.sqrt(np.maximum(squares, 0)),
        }
        self.fidelity_ = float(np.average(overlaps(answer, own), weights=weights))
        self.scores_ = {name: float(np.average(value, weights=weights)) for name, value in measures.items()}

    # ---- objects --------------------------------------------------------------------------------------------------

    def apply(self, X: TableLike) -> np.ndarray:
        """(n,) number of the leaf, among `nodes_`, that each object comes to."""
        check_is_fitted(self, "nodes_")
        return self._leaf_of(self._values(joined_attributes(X)))

    def predict_mass(self, X: TableLike) -> CredalPartition:
        """Credal partition of the objects: the mean mass of the leaf each comes to."""
        X = joined_attributes(X)
        leaf = self.apply(X)
        masses = np.array([node.mass for node in self.nodes_])
        return CredalPartition.unchecked(masses[leaf], self.focal_sets_, object_index(X), self.frame_)

    def predict_set(self, X: TableLike) -> np.ndarray:
        """(n, c) Boolean: the set of clusters that the leaf of each object answers, empty for outliers."""
        leaf = self.apply(X)
        return self._answers()[leaf]

    def predict(self, X: TableLike) -> np.ndarray:
        """(n,) cluster of largest plausibility under the mean mass of the leaf, 0..c-1."""
        leaf = self.apply(X)
        return self._labels()[leaf]

    def score(self, X: TableLike, y: Any, sample_weight: ArrayLike = None) -> float:
        """Fidelity, as `fidelity_`, for other objects and their partition ``y``."""
        X = joined_attributes(X)
        answer = self.predict_set(X)
        credal = matched_partition(y, X, len(answer), "y")
        if credal.frame != self.frame_:
            raise InvalidInputError(f"y must have the clusters {self.frame_}, got {credal.frame}")
        weights = object_weights(ordered_like(sample_weight, object_index(X)), len(answer))
        return float(np.average(overlaps(answer, credal.assignment()), weights=weights))

    def _values(self, X: TableLike) -> np.ndarray:
        table = read_attributes(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        if len(table) != self.n_features_in_:
            raise InvalidInputError(f"X must have {self.n_features_in_} columns, as in fit, got {len(table)}")
        for column in self._columns:
            if not column.is_category and not (table[column.source].is_numeric or table[column.source].is_empty):
                raise InvalidInputError(f"column {column.name!r} must hold numbers, as in fit")
        return column_values(table, self._columns)

    def _leaf_of(self, values: np.ndarray) -> np.ndarray:
        leaf = np.zeros(len(values), dtype=np.intp)
        for node in self.nodes_:  # parents come first
            if node.column is None:
                continue
            rows = np.flatnonzero(leaf == node.number)
            column = values[:, self._columns.index(node.column)][rows]
            left = goes_left(column, node.threshold, node.missing_left)
            leaf[rows] = np.where(left, *node.children)
        return leaf

    def _answers(self) -> np.ndarray:
        """(nodes, c) the set that each node answers."""
        answers = np.zeros((len(self.nodes_), self.n_clusters_), dtype=bool)
        for node in self.nodes_:
            answers[node.number, list(node.answer)] = True
        return answers

    def _labels(self) -> np.ndarray:
        masses = np.array([node.mass for node in self.nodes_])
        return CredalPartition.unchecked(masses, self.focal_sets_).labels

    # ---- showing --------------------------------------------------------------------------------------------------

    @property
    def leaves_(self) -> tuple[TreeNode, ...]:
        """The nodes that are leaves, from left to right."""
        check_is_fitted(self, "nodes_")
        return tuple(node for node in self.nodes_ if node.is_leaf)

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaves_)

    def get_depth(self) -> int:
        """Most conditions on the way to a leaf."""
        return max(node.depth for node in self.leaves_)

    def export_text(self) -> str:
        """The rules as indented text: conditions, and what the leaves answer."""
        leaves, scores = self.leaves_, self.scores_
        head = (
            f"{len(leaves)} {'leaf' if len(leaves) == 1 else 'leaves'}, fidelity {self.fidelity_:.2f} (same set "
            f"{scores['same_set']:.0%}, same cluster {scores['same_label']:.0%})"
        )
        return f"{head}\n{tree_text(self.nodes_, self.frame_)}"

    def to_frame(self) -> pd.DataFrame:
        """A row for each leaf: its rule, what it answers, how many objects it has and how well it fits them."""
        import pandas as pd

        rows = [
            {
                "rule": rule_words(self.nodes_, leaf.number),
                "answer": leaf.answer_in(self.frame_),
                "objects": leaf.n_objects,
                "share": leaf.share,
                "fidelity": leaf.fidelity,
            }
            for leaf in self.leaves_
        ]
        return pd.DataFrame(rows, index=pd.Index([leaf.number for leaf in self.leaves_], name="leaf"))

    def plot(self, *, ax: Any = None, **options: Any) -> Any:
        """Draw the tree (see `dempster.plot.CautiousTreeDisplay`)."""
        from dempster.plot import CautiousTreeDisplay  # a view of this value, imported when looked at

        return CautiousTreeDisplay.from_estimator(self, ax=ax, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.required = True
        return tags


def _alike(masses: np.ndarray, family: FocalSets) -> np.ndarray:
    """(n, r) points whose squared distances are those of Jousselme et al. (2001) between the masses.

    d(m, m')^2 = (m - m') D (m - m')' / 2 with D the Jaccard indices of the sets. Directions in which the masses hardly
    differ are left out.
    """
    size, axes = np.linalg.eigh(np.asarray(family.jaccard) / 2)
    points = masses @ (axes * np.sqrt(np.maximum(size, 0)))
    points -= points.mean(axis=0)
    size, axes = np.linalg.eigh(points.T @ points)
    kept = np.cumsum(size) > _NEGLIGIBLE * size.sum()
    return points @ axes[:, kept]


def _depth_first(node: Node) -> Iterator[Node]:
    nodes = [node]
    while nodes:
        node = nodes.pop()
        yield node
        nodes += reversed(node.children)
