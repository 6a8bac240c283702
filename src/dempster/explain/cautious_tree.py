"""Describe a partition by the rules of a small decision tree, whose leaves predict sets."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from dempster import _validation as rule
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._fitting import fit_transaction
from dempster._site import DocumentedEstimator
from dempster._text import format_answer, format_count, printable
from dempster._types import TableLike
from dempster._validation import row_index
from dempster.belief import FocalSets
from dempster.dissimilarity.columns import Column
from dempster.explain.inputs import join_attributes, read_attributes, resolve_input
from dempster.partition import CredalPartition

# maximum number of bins of a column; columns with more distinct values are binned by quantiles
MAX_BINS = 512
MAX_SUMS = 4_000_000  # maximum number of entries in the array of bin sums of a node
ROWS_PER_BLOCK = 100_000
# minimum gain of a split per object; smaller gains are rounding errors
MIN_RELATIVE_GAIN = 1e-10
# minimum decrease of the cost, relative to the cost of the root
MIN_RELATIVE_IMPROVEMENT = 1e-9
MIN_LEAF_SHARE = 0.01  # minimum share of all objects in a leaf
N_SPARE_LEAVES = 8  # before pruning, the tree has up to 4 * max_leaves + 8 leaves
# share of the variance of the masses that is ignored while the tree grows
NEGLIGIBLE_VARIANCE = 1e-3
# two predicted sets are tied if their mistakes per object differ by less than this value
TIE_TOLERANCE = 1e-9
# with more clusters, a leaf predicts a pair of clusters only if it is a focal set
MAX_PAIRED_CLUSTERS = 100
# with a caution of 0 or 1, a set could have the same mistake as its subset
MIN_CAUTION = 1e-3


# ---- columns and splits --------------------------------------------------------------------------


@dataclass(frozen=True)
class SplitColumn:
    """A numeric column, or the indicator of one category of a categorical column."""

    name: str
    source: int  # position of the column in the table
    is_category: bool = False
    category: Any = None

    def condition(self, threshold: float, left: bool) -> str:
        """Format the condition on this column for the objects of the left or right child."""
        name = printable(self.name)
        if self.is_category:
            return f"{name} is {'not ' * left}{printable(self.category)}"
        return f"{name} {'<=' if left else '>'} {exact_text(threshold)}"


def exact_text(number: float) -> str:
    """Format a number with as few digits as possible without changing its value."""
    short = f"{number + 0.0:.12g}"
    if float(short) == number:
        return short
    return repr(float(number))


def list_split_columns(table: list[Column], min_objects: int) -> list[SplitColumn]:
    """Return the numeric columns and the categories on which a tree may split.

    At least ``min_objects`` objects must be in a category and outside of it.
    """
    columns = []
    for source, column in enumerate(table):
        name = str(column.name)
        if column.is_numeric:
            columns.append(SplitColumn(name, source))
            continue
        if column.is_empty:
            continue
        categories = column.categories()
        codes = column.codes(categories, missing=-1, unseen=-1)
        counts = np.bincount(codes[codes >= 0], minlength=len(categories))
        others = len(codes) - counts
        is_frequent = (counts >= min_objects) & (others >= min_objects)
        frequent = categories[is_frequent]
        # The indicators of two categories give the same splits.
        if len(categories) == 2:
            frequent = frequent[-1:]
        columns += [SplitColumn(name, source, True, category) for category in frequent]
    return columns


def column_values(table: list[Column], columns: list[SplitColumn]) -> np.ndarray:
    """Return the values of the split columns, shape (n_objects, n_columns).

    Missing values are NaN.
    """
    values = np.empty((len(table[0]), len(columns)))
    for j, column in enumerate(columns):
        source = table[column.source]
        if not column.is_category:
            values[:, j] = source.numbers()
            continue
        only = np.empty(1, object)
        only[0] = column.category
        codes = source.codes(only, missing=-1, unseen=1)
        values[:, j] = np.where(codes < 0, np.nan, codes == 0)
    return values


def round_between(low: float, high: float) -> float:
    """Return the number with the fewest digits in the middle half of an interval."""
    middle = low / 2 + high / 2
    width = high / 2 - low / 2
    if not (width > 0 and np.isfinite(width)):
        return low
    first = -int(np.floor(np.log10(width))) - 1
    for digits in range(first, first + 4):
        if abs(digits) > 300:
            break
        candidate = float(round(middle, digits))
        if low <= middle - width / 2 <= candidate <= middle + width / 2 < high:
            return candidate
    if low <= middle < high:
        return middle
    return low


# ---- nodes and rules -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TreeNode:
    """A node of a `CautiousTree`."""

    number: int  # position in depth-first order from the root
    depth: int
    # left child, for objects that satisfy the condition, and right child
    children: tuple[int, ...]
    column: SplitColumn | None
    threshold: float  # largest value that satisfies the condition
    missing_left: bool  # whether missing values belong to the left child
    saw_missing: bool  # whether the split column had missing values in fit
    n_objects: int
    share: float  # share of all training objects in this node
    # mean mass of each focal set over the objects in this node
    mass: Annotated[np.ndarray, "f"]
    answer: tuple[int, ...]  # set of clusters that the node predicts if it is a leaf
    fidelity: float  # mean overlap of the predicted set with the sets of the objects in this node

    def __post_init__(self) -> None:
        if np.min(self.mass, initial=0) < 0 or not np.isclose(np.sum(self.mass), 1):
            must = "be a mass function: nonnegative with sum 1"
            raise InvalidParameterError("mass", must=must)

    @property
    def is_leaf(self) -> bool:
        return not self.children

    def condition(self, left: bool) -> str:
        """Format the condition that the objects of the left or right child satisfy."""
        if self.column is None:
            problem = f"node {self.number} is a leaf and has no condition"
            raise InvalidInputError(problem)
        text = self.column.condition(self.threshold, left)
        if self.saw_missing and left == self.missing_left:
            return f"{text} or missing"
        return text


def list_paths(nodes: Sequence[TreeNode]) -> dict[int, list[str]]:
    """Return the conditions on the path from the root to each node, by the number of the node."""
    paths: dict[int, list[str]] = {0: []}
    for node in nodes:  # a parent comes before its children
        path = paths[node.number]
        for child, left in zip(node.children, (True, False), strict=False):
            paths[child] = [*path, node.condition(left)]
    return paths


# ---- growth --------------------------------------------------------------------------------------
#
# The impurity of a leaf is sum_i |z_i - mean|^2 over its objects i with targets z_i. A split into L
# and R decreases it by |S_L|^2 / n_L + |S_R|^2 / n_R - |S|^2 / n, where S is the sum of the targets
# and n the number of objects. Therefore the sums over the bins of each column are sufficient to
# find the best split.


@dataclass
class Node:
    """A node of a tree that is being grown; ``column`` is -1 for a leaf."""

    rows: np.ndarray
    depth: int = 0
    column: int = -1
    threshold: float = np.nan
    missing_left: bool = True
    saw_missing: bool = False
    gain: float = 0.0
    children: tuple[Node, ...] = ()
    answer: tuple[int, ...] = ()  # predicted set
    cost: float = 0.0  # mistakes of the predicted set
    # smallest cost of a subtree with at most 1, 2, ... leaves
    costs: np.ndarray = field(default_factory=lambda: np.zeros(1))


class Bins:
    """Numeric columns binned by thresholds.

    The last bin of a column contains the missing values.
    """

    def __init__(self, values: np.ndarray, n_targets: int):
        n, q = values.shape
        max_bins = int(np.clip(MAX_SUMS // max(q * n_targets, 1), 16, MAX_BINS))
        self.thresholds = [_thresholds(column, max_bins) for column in values.T]
        sizes = np.array([len(t) + 2 for t in self.thresholds], np.int64)
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        self.codes = np.empty((n, q), np.int32)
        for j, thresholds in enumerate(self.thresholds):
            column = values[:, j]
            code = np.searchsorted(thresholds, column)
            code[np.isnan(column)] = len(thresholds) + 1
            self.codes[:, j] = self.starts[j] + code

    def sums(self, rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return the sums of the targets of some rows in each bin, shape (n_bins, n_targets)."""
        q = self.codes.shape[1]
        total = np.zeros((int(self.starts[-1]), targets.shape[1]))
        for start in range(0, len(rows), ROWS_PER_BLOCK):
            part = rows[start : start + ROWS_PER_BLOCK]
            n = len(part)
            codes = self.codes[part].ravel()
            row_starts = np.arange(n + 1) * q
            entries = np.ones(n * q), codes, row_starts
            one_hot = csr_array(entries, shape=(n, len(total)))
            total += one_hot.T @ targets[part]
        return total


def _thresholds(column: np.ndarray, max_bins: int) -> np.ndarray:
    """Return midpoints between the distinct values of a column, or between its quantiles."""
    values = np.unique(column[~np.isnan(column)])
    if len(values) < 2:
        return np.empty(0)
    low = values[:-1]
    high = values[1:]
    if len(low) > max_bins:
        levels = np.linspace(0, 1, max_bins + 1)[1:-1]
        quantiles = np.nanquantile(column, levels)
        ranks = np.unique(np.searchsorted(values, quantiles))
        ranks = ranks[ranks < len(low)]
        low = low[ranks]
        high = high[ranks]
    middle = low / 2 + high / 2
    # adjacent floats have no midpoint
    return np.where((middle >= low) & (middle < high), middle, low)


def grow(
    values: np.ndarray,
    targets: np.ndarray,
    *,
    max_leaves: int,
    min_objects: int,
) -> Node:
    """Grow a tree by best-first search.

    Splits on columns of ``values`` minimize the variance of ``targets``.
    """
    n = len(values)
    summed = np.column_stack([np.ones(n), targets])
    bins = Bins(values, summed.shape[1])
    root = Node(np.arange(n))
    min_gain = MIN_RELATIVE_GAIN * n
    queue: list[tuple[float, int, Node, np.ndarray]] = []
    number = count()  # On ties, the node that was added first is split first.

    def add_to_queue(node: Node, sums: np.ndarray) -> None:
        if len(node.rows) >= 2 * min_objects and values.shape[1]:
            _find_split(node, bins, sums, min_objects)
            if node.gain > min_gain:
                heapq.heappush(queue, (-node.gain, next(number), node, sums))

    add_to_queue(root, bins.sums(root.rows, summed))
    for _ in range(max_leaves - 1):
        if not queue:
            break
        _, _, node, sums = heapq.heappop(queue)
        children = _split(node, values)
        small, large = sorted(children, key=lambda child: len(child.rows))
        small_sums = bins.sums(small.rows, summed)
        add_to_queue(small, small_sums)
        add_to_queue(large, sums - small_sums)
    return root


def goes_left(column: np.ndarray, threshold: float, missing_left: bool) -> np.ndarray:
    """Return whether each value of a column belongs to the left child of a split."""
    return np.where(np.isnan(column), missing_left, column <= threshold)


def _split(node: Node, values: np.ndarray) -> tuple[Node, ...]:
    column = values[node.rows, node.column]
    left = goes_left(column, node.threshold, node.missing_left)
    low = column[column <= node.threshold].max()
    high = column[column > node.threshold].min()
    node.threshold = round_between(float(low), float(high))
    node.children = tuple(
        Node(node.rows[side], node.depth + 1) for side in (left, ~left)
    )
    return node.children


def _find_split(node: Node, bins: Bins, sums: np.ndarray, min_objects: int) -> None:
    """Find the split of a node that decreases the impurity most.

    On ties, use the first column and lowest threshold.
    """
    total = sums[: bins.starts[1]].sum(axis=0)
    whole = _concentration(total[None])[0]
    for j, thresholds in enumerate(bins.thresholds):
        if not len(thresholds):
            continue
        block = sums[bins.starts[j] : bins.starts[j + 1]]
        present = np.cumsum(block[:-2], axis=0)
        missing = block[-1]
        has_missing = missing[0] > 0  # Entry 0 of the sums is the number of objects.
        for missing_left in (True, False) if has_missing else (False,):
            left = present
            if missing_left:
                left = present + missing
            right = total - left
            gain = _concentration(left) + _concentration(right) - whole
            n_smaller = np.minimum(left[:, 0], right[:, 0])
            gain[n_smaller < min_objects] = -np.inf
            # Each side of the threshold must contain at least one value.
            n_below = present[:, 0]
            n_present = total[0] - missing[0]
            gain[(n_below == 0) | (n_below == n_present)] = -np.inf
            best = int(gain.argmax())
            if gain[best] > node.gain * (1 + 1e-12):
                node.gain = float(gain[best])
                node.column = j
                node.threshold = float(thresholds[best])
                node.saw_missing = bool(has_missing)
                node.missing_left = missing_left
                if not has_missing:
                    node.missing_left = bool(left[best, 0] >= right[best, 0])


def _concentration(sums: np.ndarray) -> np.ndarray:
    """Return |S|^2 / n for each row of ``sums``, which contains the number n of objects and S."""
    number = sums[:, 0]
    targets = sums[:, 1:]
    squares = np.einsum("sk,sk->s", targets, targets)
    return np.divide(squares, number, out=np.zeros_like(squares), where=number > 0)


# ---- answers and pruning -------------------------------------------------------------------------


def mistakes(answers: np.ndarray, truths: np.ndarray, caution: float) -> np.ndarray:
    """Return the mistake (see `CautiousTree`) of each predicted set for each true set.

    Sets are Boolean rows.
    """
    common = answers.astype(float) @ truths.T.astype(float)
    sizes = answers.sum(axis=1)[:, None]
    return 1 - _agreement(common, sizes, truths.sum(axis=1), caution)


def overlaps(answers: np.ndarray, truths: np.ndarray) -> np.ndarray:
    """Return the overlap (|A ∩ B| / |A| + |A ∩ B| / |B|) / 2 of the sets in each row.

    The rows of two Boolean arrays contain the sets A and B.
    """
    common = (answers & truths).sum(axis=1)
    return _agreement(common, answers.sum(axis=1), truths.sum(axis=1), 0.5)


def _agreement(
    common: np.ndarray, sizes: np.ndarray, others: np.ndarray, caution: float
) -> np.ndarray:
    """Return the weighted mean of the shares of the common clusters in two sets.

    The shares refer to the sizes of the true sets (``others``) and of the predicted sets
    (``sizes``). The agreement of two empty sets is 1.
    """
    kept = common / np.maximum(others, 1)
    exact = common / np.maximum(sizes, 1)
    mean = caution * kept + (1 - caution) * exact
    return np.where((sizes == 0) & (others == 0), 1.0, mean)


def add_costs(root: Node, max_leaves: int) -> None:
    """Set the smallest costs of all subtrees."""
    min_improvement = MIN_RELATIVE_IMPROVEMENT * root.cost
    for node in reversed(list(_depth_first(root))):  # children come before their parent
        costs = [node.cost]
        if node.children:
            sums = _combine_costs(*(child.costs for child in node.children))
            for best in sums[: max_leaves - 1].tolist():
                last = costs[-1]
                if best < last - min_improvement:
                    last = best
                costs.append(last)
        node.costs = np.array(costs)


def _combine_costs(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the smallest costs of a tree with 2, 3, ... leaves from those of its two subtrees."""
    few, many = sorted((left, right), key=len)
    best = np.full(len(few) + len(many) - 1, np.inf)
    for k, cost in enumerate(few.tolist()):
        part = best[k : k + len(many)]
        np.minimum(part, cost + many, out=part)
    return best


def prune(root: Node, leaves: int) -> None:
    """Prune a tree to the subtree of lowest cost with at most ``leaves`` leaves.

    On ties, to the smallest subtree.
    """
    stack = [(root, leaves)]
    while stack:
        node, leaves = stack.pop()
        own = node.costs[:leaves]
        leaves = int(np.flatnonzero(own == own[-1])[0]) + 1
        if leaves == 1 or not node.children:
            node.children = ()
            node.column = -1
            continue
        left, right = (child.costs for child in node.children)
        shares = np.arange(max(1, leaves - len(right)), min(len(left), leaves - 1) + 1)
        share = int(shares[np.argmin(left[shares - 1] + right[leaves - shares - 1])])
        stack += [(node.children[0], share), (node.children[1], leaves - share)]


# ---- estimator -----------------------------------------------------------------------------------


class CautiousTree(DocumentedEstimator, BaseEstimator):
    r"""Decision tree that describes a credal partition by a few rules.

    A leaf predicts one cluster if its objects are certain, several clusters if they are ambiguous
    or mixed, and the empty set for outliers. The mistake of predicting the set A for an object with
    the set B is

    .. math::

        \mathrm{caution} \frac{|B \setminus A|}{|B|}
        + (1 - \mathrm{caution}) \frac{|A \setminus B|}{|A|},

    and a leaf predicts the set (a focal set, a pair of clusters or all clusters) with the smallest
    expected mistake under the masses of its objects. The tree is grown best first by splits that
    minimize the variance of the masses (in the Jousselme metric) in the leaves, to more than
    ``max_leaves`` leaves. Then it is pruned to the subtree of at most ``max_leaves`` leaves with
    the fewest mistakes, by dynamic programming.

    Parameters
    ----------
    max_leaves : int or "auto", default="auto"
        Maximum number of leaves. The tree has fewer leaves if more leaves would not decrease the
        mistakes. "auto" is the number of sets with enough objects for a leaf.
    caution : float in [0, 1], default=0.5
        Preference for sets of several clusters. With 0 a leaf predicts one cluster unless its
        objects are ambiguous; with 1 it predicts every possible cluster. (The formula uses 0.001
        instead of 0, and 0.999 instead of 1, to distinguish a pair from its clusters.)

    Attributes
    ----------
    fidelity_ : float
        Mean over the objects of (|A ∩ B| / |A| + |A ∩ B| / |B|) / 2, where A is the set that the
        leaf predicts and B is the set with the largest mass. The value is 1 if the sets are equal,
        3/4 if one is a cluster and the other is a pair that contains it, and 0 if they are
        disjoint. It does not depend on ``caution``.
    scores_ : dict of str to float
        Agreement of the tree with the partition. "same_set" is the share of the objects with equal
        sets. "compatible" is the share of the objects whose sets have a common cluster or are both
        empty. "same_label" is the share with the same most plausible cluster. "distance" is the
        mean Jousselme distance of the masses.
    mistakes_by_leaves_ : array of shape (min(max_leaves, n_samples),)
        Smallest mean mistake with at most 1, 2, ... leaves.
    nodes_ : tuple of nodes
        Nodes in depth-first order from the root, with ``number``, ``depth``, ``children``,
        ``condition(left)``, ``n_objects``, ``share``, ``mass``, ``answer`` (the predicted set of a
        leaf) and ``fidelity``.
    focal_sets_ : FocalSets
        Focal sets of the partition.
    frame_ : tuple
        Names of the clusters.
    n_clusters_, n_features_in_ : int
        Numbers of clusters and of columns of X.
    feature_names_in_ : array of str
        Column names, if X had any.

    Notes
    -----
    Columns may contain numbers, Booleans or categories, and missing values. Each split assigns
    missing values to the child for which the variance decreases more, or to the larger child if no
    value was missing in `fit`. A category that was not in `fit` satisfies no condition on a
    category. If a column has more than about 500 distinct values, only quantiles are tried as
    thresholds. Thresholds are rounded to few digits without changing the split.

    References
    ----------
    V. F. Lopes de Souza, K. Bakhti, S. Ramdani, D. Mottet and A. Imoussaten (2025). Explainable
    evidential clustering. arXiv:2507.12192. (Growth and pruning are different here.)

    A.-L. Jousselme, D. Grenier and E. Bosse (2001). A new distance between two bodies of evidence.
    Information Fusion 2.

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

    focal_sets_: FocalSets
    nodes_: tuple[TreeNode, ...]
    _columns: list[SplitColumn]

    _rules = {
        "max_leaves": rule.auto | rule.positive_integer,
        "caution": rule.share,
    }

    def __init__(
        self,
        max_leaves: int | str = "auto",
        *,
        caution: float = 0.5,
    ):
        self.max_leaves = max_leaves
        self.caution = caution

    # ---- fitting ---------------------------------------------------------------------------------

    def fit(self, X: TableLike, y: Any) -> Self:
        """Fit the tree to a partition.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Attributes of the objects. They need not be the attributes that were clustered. A list
            or dictionary of tables is joined to one table with columns "view: column".
        y : CredalPartition, estimator that has one, MassFunctions, or labels
            The partition to describe. Objects are matched with the rows of X by name if both have
            names.

        Returns
        -------
        self
        """
        with fit_transaction(self) as draft:
            draft._fit(X, y)
        return self

    def _fit(self, X: TableLike, y: Any) -> None:
        rule.check_parameters(self, self._rules)
        joined = join_attributes(X)
        table = read_attributes(joined)
        n = len(table[0])
        if y is None:
            raise InvalidInputError(
                "CautiousTree requires y to be passed, but the target y is None; pass a partition"
            )
        resolved = resolve_input(y, "y")
        resolved.reject_dissimilarities(X)
        credal = resolved.align_partition(joined, n)
        validate_data(self, joined, skip_check_array=True)
        self.n_features_in_ = len(table)
        self.focal_sets_ = credal.focal_sets
        self.frame_ = credal.frame
        self.n_clusters_ = credal.n_clusters
        min_objects = max(1, int(n * MIN_LEAF_SHARE))
        counts = np.bincount(credal.best_set)
        max_leaves = self.max_leaves
        if max_leaves == "auto":
            max_leaves = max(1, int((counts >= min_objects).sum()))
        max_leaves = min(int(max_leaves), n)
        self._columns = list_split_columns(table, min_objects)
        values = column_values(table, self._columns)
        masses = np.asarray(credal.masses, float)
        root = grow(
            values,
            _embed_masses(masses, self.focal_sets_),
            max_leaves=min(4 * max_leaves + N_SPARE_LEAVES, n),
            min_objects=min_objects,
        )
        self._prune(root, masses, max_leaves)
        self._set_nodes(root, credal, masses)
        self._set_scores(credal, values)

    def _prune(self, root: Node, masses: np.ndarray, max_leaves: int) -> None:
        """Set the sets of clusters with the fewest mistakes, and prune the tree."""
        family = self.focal_sets_
        candidates = family.sorted()  # On ties, the smaller set is selected.
        if 1 < family.n_clusters <= MAX_PAIRED_CLUSTERS:
            candidates = family.union(
                FocalSets.pairs(family.n_clusters, empty=False)
            ).sorted()
        caution = float(np.clip(self.caution, MIN_CAUTION, 1 - MIN_CAUTION))
        loss = mistakes(candidates.membership, family.membership, caution)
        sets = list(candidates)
        for node in _depth_first(root):
            expected = loss @ masses[node.rows].sum(axis=0)
            tolerance = TIE_TOLERANCE * len(node.rows)
            best = int(np.argmax(expected <= expected.min() + tolerance))
            node.answer = sets[best]
            node.cost = float(expected[best])
        add_costs(root, max_leaves)
        smallest = np.pad(root.costs, (0, max_leaves - len(root.costs)), mode="edge")
        self.mistakes_by_leaves_ = smallest / masses.sum()
        prune(root, max_leaves)

    def _set_nodes(
        self, root: Node, credal: CredalPartition, masses: np.ndarray
    ) -> None:
        order = list(_depth_first(root))
        number = {id(node): k for k, node in enumerate(order)}
        own = credal.assignment()
        answers = _membership(order, self.n_clusters_)
        nodes = []
        for k, node in enumerate(order):
            rows = node.rows
            mean = masses[rows].mean(axis=0)
            nodes.append(
                TreeNode(
                    number=k,
                    depth=node.depth,
                    children=tuple(number[id(child)] for child in node.children),
                    column=self._columns[node.column] if node.children else None,
                    threshold=node.threshold if node.children else np.nan,
                    missing_left=node.missing_left,
                    saw_missing=node.saw_missing and bool(node.children),
                    n_objects=len(rows),
                    share=len(rows) / len(own),
                    mass=mean / mean.sum(),
                    answer=node.answer,
                    fidelity=float(overlaps(answers[k : k + 1], own[rows]).mean()),
                )
            )
        self.nodes_ = tuple(nodes)

    def _set_scores(self, credal: CredalPartition, values: np.ndarray) -> None:
        leaf = self._find_leaves(values)
        answer = self._answers()[leaf]
        own = credal.assignment()
        difference = np.asarray(credal.masses, float) - self._masses()[leaf]
        weighted = difference @ np.asarray(self.focal_sets_.jaccard)
        squares = np.einsum("if,if->i", weighted, difference) / 2
        measures = {
            "same_set": (answer == own).all(axis=1),
            "compatible": (answer & own).any(axis=1)
            | ~(answer.any(axis=1) | own.any(axis=1)),
            "same_label": self._labels()[leaf] == credal.labels,
            "distance": np.sqrt(np.maximum(squares, 0)),
        }
        self.fidelity_ = float(overlaps(answer, own).mean())
        self.scores_ = {name: float(value.mean()) for name, value in measures.items()}

    # ---- objects ---------------------------------------------------------------------------------

    def apply(self, X: TableLike) -> np.ndarray:
        """Return the position in `nodes_` of the leaf of each object.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Attributes of the objects, in the same form as in `fit`.

        Returns
        -------
        integer array of shape (n_samples,)
        """
        check_is_fitted(self, "nodes_")
        return self._find_leaves(self._values(join_attributes(X)))

    def predict_mass(self, X: TableLike) -> CredalPartition:
        """Return the predicted credal partition.

        The masses of an object are the mean masses of its leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Attributes of the objects, in the same form as in `fit`.

        Returns
        -------
        CredalPartition
        """
        X = join_attributes(X)
        leaf = self.apply(X)
        return CredalPartition.unchecked(
            self._masses()[leaf], self.focal_sets_, row_index(X), self.frame_
        )

    def predict_set(self, X: TableLike) -> np.ndarray:
        """Return the predicted set of clusters of each object.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Attributes of the objects, in the same form as in `fit`.

        Returns
        -------
        Boolean array of shape (n_samples, n_clusters)
        """
        leaf = self.apply(X)
        return self._answers()[leaf]

    def predict(self, X: TableLike) -> np.ndarray:
        """Return the most plausible cluster (0 to n_clusters - 1) of the leaf of each object.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Attributes of the objects, in the same form as in `fit`.

        Returns
        -------
        integer array of shape (n_samples,)
        """
        leaf = self.apply(X)
        return self._labels()[leaf]

    def _values(self, X: TableLike) -> np.ndarray:
        table = read_attributes(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        for column in self._columns:
            source = table[column.source]
            if not (column.is_category or source.is_numeric or source.is_empty):
                raise InvalidInputError(
                    f"column {column.name!r} must contain numbers, as in fit"
                )
        return column_values(table, self._columns)

    def _find_leaves(self, values: np.ndarray) -> np.ndarray:
        leaf = np.zeros(len(values), np.intp)
        for node in self.nodes_:  # Parents come before their children.
            if node.column is None:
                continue
            rows = np.flatnonzero(leaf == node.number)
            column = values[:, self._columns.index(node.column)][rows]
            left = goes_left(column, node.threshold, node.missing_left)
            leaf[rows] = np.where(left, *node.children)
        return leaf

    def _answers(self) -> np.ndarray:
        return _membership(self.nodes_, self.n_clusters_)

    def _masses(self) -> np.ndarray:
        return np.array([node.mass for node in self.nodes_])

    def _labels(self) -> np.ndarray:
        return CredalPartition.unchecked(self._masses(), self.focal_sets_).labels

    # ---- export ----------------------------------------------------------------------------------

    @property
    def leaves_(self) -> tuple[TreeNode, ...]:
        """Nodes that are leaves, from left to right."""
        check_is_fitted(self, "nodes_")
        return tuple(node for node in self.nodes_ if node.is_leaf)

    def export_text(self) -> str:
        """Return the conditions and the predicted sets of the leaves as indented text.

        Returns
        -------
        str
        """
        n_leaves = len(self.leaves_)
        count = "1 leaf"
        if n_leaves != 1:
            count = f"{n_leaves} leaves"
        same_set = f"same set {self.scores_['same_set']:.0%}"
        same_cluster = f"same cluster {self.scores_['same_label']:.0%}"
        head = f"{count}, fidelity {self.fidelity_:.2f} ({same_set}, {same_cluster})"
        lines = [head]
        paths = list_paths(self.nodes_)
        for node in self.nodes_:
            if node.number:
                lines.append(f"{'    ' * (node.depth - 1)}{paths[node.number][-1]}")
            if node.is_leaf:
                answer = format_answer(node.answer, self.frame_)
                objects = format_count(node.n_objects)
                scores = f"{objects}, fidelity {node.fidelity:.2f}"
                lines.append(f"{'    ' * node.depth}{answer}: {scores}")
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with the rule, the predicted set, the size and the fidelity of each leaf.

        Returns
        -------
        pandas.DataFrame
        """
        paths = list_paths(self.nodes_)
        rows = [
            {
                "rule": " and ".join(paths[leaf.number]) or "always",
                "answer": format_answer(leaf.answer, self.frame_),
                "objects": leaf.n_objects,
                "share": leaf.share,
                "fidelity": leaf.fidelity,
            }
            for leaf in self.leaves_
        ]
        numbers = [leaf.number for leaf in self.leaves_]
        return pd.DataFrame(rows, index=pd.Index(numbers, name="leaf"))

    def plot(self, *, ax: Any = None, title: str | None = None) -> Any:
        """Plot the tree from the root on the left to the leaves on the right.

        The thickness of a branch shows its share of the objects. Each leaf has a mark in the colors
        of the clusters that it predicts (a cross for outliers).

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure that is large enough for the tree.
        title : str, optional

        Returns
        -------
        display
            Object with the attributes ``ax_``, ``figure_``, ``texts_`` and ``positions``.
        """
        # dempster.plot imports this package
        from dempster.plot.explanation import CautiousTreeDisplay

        check_is_fitted(self, "nodes_")
        return CautiousTreeDisplay(self).plot(ax=ax, title=title)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.required = True
        return tags

    def _check_loaded(self) -> None:
        """Raise an error unless nodes are numbered in order and children follow their parents."""
        for number, node in enumerate(self.nodes_):
            children = node.children
            n_children = 0 if node.column is None else 2
            is_valid = node.number == number and all(map(rule.is_integer, children))
            if not is_valid or len(children) != n_children:
                raise InvalidInputError(
                    f"node {number} of nodes_ must have the number {number}, "
                    "and two children or none"
                )
            if not all(number < child < len(self.nodes_) for child in children):
                raise InvalidInputError(
                    f"the children of node {number} of nodes_ must come after it, got {children}"
                )


def _membership(nodes: Sequence[Node | TreeNode], n_clusters: int) -> np.ndarray:
    """Return the predicted sets of nodes as rows of a Boolean array."""
    answers = np.zeros((len(nodes), n_clusters), bool)
    for row, node in zip(answers, nodes, strict=True):
        row[list(node.answer)] = True
    return answers


def _embed_masses(masses: np.ndarray, family: FocalSets) -> np.ndarray:
    """Return points whose Euclidean distances are the Jousselme distances of the masses.

    The squared distance is d(m, m')^2 = (m - m') D (m - m')' / 2, where D contains the Jaccard
    indices of the focal sets. Directions with negligible variance are dropped.
    """
    size, axes = np.linalg.eigh(np.asarray(family.jaccard) / 2)
    points = masses @ (axes * np.sqrt(np.maximum(size, 0)))
    points -= points.mean(axis=0)
    size, axes = np.linalg.eigh(points.T @ points)
    kept = np.cumsum(size) > NEGLIGIBLE_VARIANCE * size.sum()
    return points @ axes[:, kept]


def _depth_first(node: Node) -> Iterator[Node]:
    nodes = [node]
    while nodes:
        node = nodes.pop()
        yield node
        nodes += reversed(node.children)
