"""Describe a partition by rules: a small tree whose leaves answer clusters, or sets where they are ambiguous."""

from __future__ import annotations

import heapq
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster._fitting import fit_transaction
from dempster._site import DocumentedEstimator
from dempster._text import format_answer, format_count, printable
from dempster._types import ArrayLike, TableLike
from dempster._validation import object_index, object_weights, ordered_like
from dempster.belief import FocalSets
from dempster.dissimilarity.columns import Column
from dempster.explain.inputs import join_attributes, read_attributes, resolve_input
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    import pandas as pd


MAX_BINS = 512  # of a column; with fewer different values every split is tried
MAX_SUMS = 4_000_000  # numbers in the sums of a node
ROWS_PER_BLOCK = 100_000
MIN_RELATIVE_GAIN = 1e-10  # for each unit of weight: a smaller gain is rounding
MIN_RELATIVE_IMPROVEMENT = 1e-9  # of the cost of the root: a smaller one is rounding
SPARE_LEAVES = 8  # that are grown beyond four times those kept, for pruning to choose from
NEGLIGIBLE_SPREAD = 1e-3  # share of the spread of the masses that growing may ignore
TIE_TOLERANCE = 1e-9  # mistakes of an object: answers nearer than this are equally good
MAX_PAIRED_CLUSTERS = 100  # of which all pairs may be answers
MIN_CAUTION = 1e-3  # so that a set differs from its parts, and from larger ones, whatever the caution


# ---- columns and splits ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SplitColumn:
    """A column of numbers as it is, or whether the cells of another one are a certain category.

    Thresholds on whole numbers beyond 2^53, which floating-point numbers do not tell apart, are measured from
    ``origin``, the smallest of them.
    """

    name: str
    source: int  # which column of the table
    is_category: bool = False
    category: Any = None
    origin: int = 0

    def condition(self, threshold: float, left: bool) -> str:
        """Describe the objects that go to a side of a split."""
        name = printable(self.name)
        if self.is_category:
            return f"{name} is {'not ' * left}{printable(self.category)}"
        return f"{name} {'<=' if left else '>'} {self.shown(threshold)}"

    def shown(self, threshold: float) -> str:
        """Format a threshold in the units of the column."""
        return str(self.origin + math.floor(threshold)) if self.origin else exact_text(threshold)


def exact_text(threshold: float) -> str:
    """Format a threshold as short as possible without changing the number."""
    short = f"{threshold + 0.0:.12g}"
    return short if float(short) == threshold else repr(float(threshold))


def split_columns(table: list[Column], least: int) -> list[SplitColumn]:
    """Return what to split on: numbers, and categories that at least ``least`` objects have and have not."""
    found = []
    for source, column in enumerate(table):
        name = str(column.name)
        if column.is_numeric:
            found.append(SplitColumn(name, source, origin=column.whole_origin()))
            continue
        if column.is_empty:
            continue
        categories = column.categories()
        codes = column.codes(categories, missing=-1, unseen=-1)
        counts = np.bincount(codes[codes >= 0], minlength=len(categories))
        chosen = [c for c, n in zip(categories, counts, strict=True) if least <= n <= len(codes) - least]
        if len(categories) == 2:  # the one is what the other is not
            chosen = chosen[-1:]
        found += [SplitColumn(name, source, True, category) for category in chosen]
    return found


def column_values(table: list[Column], columns: list[SplitColumn]) -> np.ndarray:
    """Return (n, q) numbers to compare with thresholds, NaN for missing cells."""
    values = np.empty((len(table[0]), len(columns)))
    for j, column in enumerate(columns):
        source = table[column.source]
        if not column.is_category:
            values[:, j] = source.numbers_from(column.origin)
            continue
        only = np.empty(1, dtype=object)
        only[0] = column.category
        codes = source.codes(only, missing=-1, unseen=1)
        values[:, j] = np.where(codes < 0, np.nan, codes == 0)
    return values


def round_between(low: float, high: float) -> float:
    """Return the roundest number in the middle half between two, so that rules are short and still exact."""
    middle, width = low / 2 + high / 2, high / 2 - low / 2
    if not (width > 0 and np.isfinite(width)):
        return low
    first = -int(np.floor(np.log10(width))) - 1
    for digits in range(first, first + 4):
        if abs(digits) > 300:
            break
        candidate = float(round(middle, digits))
        if low <= middle - width / 2 <= candidate <= middle + width / 2 < high:
            return candidate
    return middle if low <= middle < high else low


# ---- nodes and rules ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TreeNode:
    """A node of a `CautiousTree`.

    Attributes
    ----------
    number, depth : int
        Nodes are format_count from the root, 0, each before its children, left before right.
    children : pair of int, or empty tuple
        Numbers of the nodes for objects that fulfil the condition, and for those that do not.
    column : SplitColumn or None
    threshold : float
        Objects up to it fulfil the condition; measured from ``column.origin``, which is 0 of most columns.
    missing_left, saw_missing : bool
        Whether objects whose value is missing fulfil the condition, and whether there were any.
    n_objects : int
    share : float
        Of all objects, by their weights.
    mass : (f,) array
        Mean mass of its objects.
    answer : tuple of int
        The set of clusters that it answers if it is a leaf.
    set_shares : (f,) array
        How its objects are shared out among their own answers, their sets of largest mass.
    fidelity : float
        Mean overlap of its answer and those of its objects.
    """

    number: int
    depth: int
    children: tuple[int, ...]
    column: SplitColumn | None
    threshold: float
    missing_left: bool
    saw_missing: bool
    n_objects: int
    share: float
    mass: np.ndarray
    answer: tuple[int, ...]
    set_shares: np.ndarray
    fidelity: float

    def __post_init__(self) -> None:
        if np.min(self.mass, initial=0) < 0 or not np.isclose(np.sum(self.mass), 1):
            raise InvalidInputError("mass must be a mass function, at least 0 with sum 1")

    @property
    def is_leaf(self) -> bool:
        return not self.children

    def answer_in(self, frame: Sequence[Hashable]) -> str:
        """Format its answer with the names of the clusters."""
        return format_answer(self.answer, frame)

    def condition(self, left: bool) -> str:
        """Describe the objects that go to a side of it."""
        if self.column is None:
            raise InvalidInputError(f"node {self.number} is a leaf: it has no condition")
        words = self.column.condition(self.threshold, left)
        return f"{words} or missing" if self.saw_missing and left == self.missing_left else words


def tree_text(nodes: Sequence[TreeNode], frame: Sequence[Hashable]) -> str:
    """Format conditions and answers, indented by their depth."""
    lines = []

    def write(node: TreeNode) -> None:
        indent = "    " * node.depth
        if node.is_leaf:
            answer = node.answer_in(frame)
            lines.append(f"{indent}{answer}: {format_count(node.n_objects)}, fidelity {node.fidelity:.2f}")
            return
        for child, left in zip(node.children, (True, False), strict=True):
            lines.append(f"{indent}{node.condition(left)}")
            write(nodes[child])

    write(nodes[0])
    return "\n".join(lines)


def rule_words(nodes: Sequence[TreeNode], number: int) -> str:
    """Format the conditions of a node; those on one column are put together."""
    way = []
    while number:
        parent = next(node for node in nodes if number in node.children)
        way.append((parent, number == parent.children[0]))
        number = parent.number
    by_column: dict[SplitColumn, list[tuple[TreeNode, bool]]] = {}
    for node, left in reversed(way):
        if node.column is not None:
            by_column.setdefault(node.column, []).append((node, left))
    return " and ".join(_interval(column, steps) for column, steps in by_column.items()) or "always"


def _interval(column: SplitColumn, steps: Sequence[tuple[TreeNode, bool]]) -> str:
    lows = [node.threshold for node, left in steps if not left]
    highs = [node.threshold for node, left in steps if left]
    if column.is_category or not (lows and highs):
        words = column.condition(min(highs) if highs else max(lows), bool(highs))
    else:
        words = f"{column.shown(max(lows))} < {printable(column.name)} <= {column.shown(min(highs))}"
    with_missing = all(node.saw_missing and left == node.missing_left for node, left in steps)
    return f"{words} or missing" if with_missing else words


# ---- growth ---------------------------------------------------------------------------------------------------------
#
# A leaf of objects with targets z_i and weights w_i has the impurity sum_i w_i |z_i - mean|^2. A split into L and R
# lowers it by |S_L|^2 / W_L + |S_R|^2 / W_R - |S|^2 / W, with S the sums of the weighted targets and W those of the
# weights: sums over the bins of each column are all that is needed.


@dataclass
class Node:
    """A node of a tree; ``column`` is -1 for a leaf."""

    rows: np.ndarray
    depth: int = 0
    column: int = -1
    threshold: float = np.nan
    missing_left: bool = True  # where objects go whose value is missing
    saw_missing: bool = False  # whether there were any
    gain: float = 0.0
    children: tuple[Node, ...] = field(default_factory=tuple)


class Bins:
    """Columns of numbers as positions among their thresholds; the last bin of a column is for missing values."""

    def __init__(self, values: np.ndarray, n_targets: int):
        n, q = values.shape
        most = int(np.clip(MAX_SUMS // max(q * n_targets, 1), 16, MAX_BINS))
        self.thresholds = [_thresholds(column, most) for column in values.T]
        sizes = np.array([len(t) + 2 for t in self.thresholds], dtype=np.int64)  # values, and missing ones
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        self.codes = np.empty((n, q), dtype=np.int32)
        for j, (column, thresholds) in enumerate(zip(values.T, self.thresholds, strict=True)):
            code = np.searchsorted(thresholds, column, side="left")
            self.codes[:, j] = self.starts[j] + np.where(np.isnan(column), len(thresholds) + 1, code)

    def sums(self, rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return (bins, k) sums of the targets of the objects in each bin."""
        from scipy.sparse import csr_array

        q = self.codes.shape[1]
        total = np.zeros((int(self.starts[-1]), targets.shape[1]))
        for start in range(0, len(rows), ROWS_PER_BLOCK):
            part = rows[start : start + ROWS_PER_BLOCK]
            ends = np.arange(0, len(part) * q + 1, max(q, 1)) if q else np.zeros(len(part) + 1, dtype=int)
            where = csr_array((np.ones(len(part) * q), self.codes[part].ravel(), ends), shape=(len(part), len(total)))
            total += where.T @ targets[part]
        return total


def _thresholds(column: np.ndarray, most: int) -> np.ndarray:
    """Return midpoints between the different values of a column, or between quantiles if there are too many."""
    values = np.unique(column[~np.isnan(column)])
    if len(values) < 2:
        return np.empty(0)
    low, high = values[:-1], values[1:]
    if len(low) > most:
        ranks = np.unique(np.searchsorted(values, np.nanquantile(column, np.linspace(0, 1, most + 1)[1:-1])))
        ranks = ranks[ranks < len(low)]
        low, high = low[ranks], high[ranks]
    middle = low / 2 + high / 2
    return np.where((middle >= low) & (middle < high), middle, low)  # neighboring floats have none


def grow(
    values: np.ndarray, targets: np.ndarray, weights: np.ndarray, *, n_leaves: int, least: int, depth: int
) -> Node:
    """Grow a tree of at most ``n_leaves`` leaves of at least ``least`` objects, no deeper than ``depth``.

    ``values`` (n, q) may have NaN for missing values; ``targets`` are (n, k).
    """
    summed = np.column_stack([np.ones(len(values)), weights, targets * weights[:, None]])
    bins = Bins(values, summed.shape[1])
    root = Node(np.arange(len(values)))
    smallest = MIN_RELATIVE_GAIN * float(weights.sum())
    queue: list[tuple[float, int, Node, np.ndarray]] = []
    number = 0

    def consider(node: Node, sums: np.ndarray) -> None:
        nonlocal number
        if node.depth < depth and len(node.rows) >= 2 * least and values.shape[1]:
            _find_split(node, bins, sums, least)
            if node.gain > smallest:
                number += 1  # of equally good splits the first one
                heapq.heappush(queue, (-node.gain, number, node, sums))

    consider(root, bins.sums(root.rows, summed))
    for _ in range(n_leaves - 1):
        if not queue:
            break
        _, _, node, sums = heapq.heappop(queue)
        left, right = _split(node, values)
        small, large = (left, right) if len(left.rows) <= len(right.rows) else (right, left)
        of_small = bins.sums(small.rows, summed)
        consider(small, of_small)
        consider(large, sums - of_small)
    return root


def goes_left(column: np.ndarray, threshold: float, missing_left: bool) -> np.ndarray:
    """Return whether each object goes to the left of a split: its value is at most the threshold."""
    return np.where(np.isnan(column), missing_left, column <= threshold)


def _split(node: Node, values: np.ndarray) -> tuple[Node, Node]:
    column = values[node.rows, node.column]
    left = goes_left(column, node.threshold, node.missing_left)
    low, high = column[column <= node.threshold].max(), column[column > node.threshold].min()
    node.threshold = round_between(float(low), float(high))  # the same objects on either side
    first, second = (Node(node.rows[side], node.depth + 1) for side in (left, ~left))
    node.children = first, second
    return first, second


def _find_split(node: Node, bins: Bins, sums: np.ndarray, least: int) -> None:
    """Find the split of largest gain; ties go to the first column and the lowest threshold."""
    total = sums[: bins.starts[1]].sum(axis=0)
    whole = _concentration(total[None])[0]
    for j, thresholds in enumerate(bins.thresholds):
        if not len(thresholds):
            continue
        block = sums[bins.starts[j] : bins.starts[j + 1]]
        present, missing = np.cumsum(block[:-2], axis=0), block[-1]
        has_missing = missing[0] > 0.5  # a count
        for missing_left in (True, False) if has_missing else (False,):
            left = present + missing if missing_left else present
            right = total - left
            gain = _concentration(left) + _concentration(right) - whole
            known = present[:, 0]  # a threshold has values on its two sides
            gain[(left[:, 0] < least - 0.5) | (right[:, 0] < least - 0.5)] = -np.inf
            gain[(known < 0.5) | (known > total[0] - missing[0] - 0.5)] = -np.inf
            best = int(gain.argmax())
            if gain[best] > node.gain * (1 + 1e-12):
                node.gain, node.column, node.threshold = float(gain[best]), j, float(thresholds[best])
                node.saw_missing = bool(has_missing)
                node.missing_left = missing_left if has_missing else bool(left[best, 0] >= right[best, 0])


def _concentration(sums: np.ndarray) -> np.ndarray:
    """Return (s,) |S|^2 / W of rows of sums: a count, W, S."""
    weights, targets = sums[:, 1], sums[:, 2:]
    squares = np.einsum("sk,sk->s", targets, targets)
    return np.divide(squares, weights, out=np.zeros_like(squares), where=weights > 0)


# ---- answers and pruning --------------------------------------------------------------------------------------------


def mistakes(answers: np.ndarray, meant: np.ndarray, caution: float) -> np.ndarray:
    """Return the (a, b) mistake of each answer A where the set B was meant, both given as rows of clusters,

        caution |B \\ A| / |B|  +  (1 - caution) |A \\ B| / |A|:

    what the answer leaves out, and what it adds. It is 0 where A = B and 1 where they have nothing in common; the
    empty set is like itself alone. In the manner of the utilities of partial answers of Lopes de Souza et al. (2025).
    """
    common = answers.astype(float) @ meant.T.astype(float)
    sizes, others = answers.sum(axis=1)[:, None], meant.sum(axis=1)[None, :]
    neither = (sizes == 0) & (others == 0)
    kept = np.where(neither, 1.0, common / np.maximum(others, 1))
    exact = np.where(neither, 1.0, common / np.maximum(sizes, 1))
    return 1 - (caution * kept + (1 - caution) * exact)


def overlaps(answers: np.ndarray, meant: np.ndarray) -> np.ndarray:
    """Return the (n,) agreement of two tables of sets: the mean of |A n B| / |A| and |A n B| / |B|."""
    common = (answers & meant).sum(axis=1)
    sizes, others = answers.sum(axis=1), meant.sum(axis=1)
    both = common / np.maximum(sizes, 1) + common / np.maximum(others, 1)
    return np.where((sizes == 0) & (others == 0), 1.0, both / 2)


def costs_by_leaves(root: Node, cost: dict[int, float], most: int) -> dict[int, np.ndarray]:
    """Return for each node, by its id, the smallest cost of its subtree cut back to at most 1, 2, ... leaves.

    There are as many numbers as leaves, at most ``most``.

    ``cost`` is that of each node as a leaf. Exact, by dynamic programming: the leaves of a node are shared out between
    its two sides.
    """
    least = MIN_RELATIVE_IMPROVEMENT * cost[id(root)]
    table: dict[int, np.ndarray] = {}
    parents_first = [root]
    for node in parents_first:
        parents_first.extend(node.children)
    for node in reversed(parents_first):
        own = [cost[id(node)]]
        if node.children:
            for best in _shared(*(table[id(child)] for child in node.children))[: most - 1].tolist():
                own.append(best if best < own[-1] - least else own[-1])
        table[id(node)] = np.array(own)
    return table


def _shared(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the smallest sum of costs with 2, 3, ... leaves on two sides together."""
    few, many = sorted((left, right), key=len)
    best = np.full(len(few) + len(many) - 1, np.inf)
    for k, cost in enumerate(few.tolist()):
        part = best[k : k + len(many)]
        np.minimum(part, cost + many, out=part)
    return best


def prune(root: Node, table: dict[int, np.ndarray], leaves: int) -> None:
    """Cut a tree back to the best subtree of at most ``leaves`` leaves; no more than its cost needs."""
    left_to_do = [(root, leaves)]
    while left_to_do:
        node, leaves = left_to_do.pop()
        own = table[id(node)][:leaves]
        leaves = int(np.flatnonzero(own == own[-1])[0]) + 1  # fewer leaves that are as good
        if leaves == 1 or not node.children:
            node.children, node.column = (), -1
            continue
        left, right = (table[id(child)] for child in node.children)
        shares = np.arange(max(1, leaves - len(right)), min(len(left), leaves - 1) + 1)
        share = int(shares[np.argmin(left[shares - 1] + right[leaves - shares - 1])])
        left_to_do += [(node.children[0], share), (node.children[1], leaves - share)]


# ---- estimator ------------------------------------------------------------------------------------------------------


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
        given, X = X, join_attributes(X)
        table = read_attributes(X)
        n = len(table[0])
        if y is None:
            raise InvalidInputError(
                "CautiousTree requires y to be passed, but the target y is None: it must be a partition"
            )
        found = resolve_input(y, "y")
        found.reject_dissimilarities(given)
        credal = found.align_partition(X, n)
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
            n_leaves=min(4 * most + SPARE_LEAVES, len(kept)),
            least=least,
            depth=self.max_depth or n,
        )
        answers = self._prune(root, masses * weight[kept, None], most)
        self._set_nodes(root, answers, credal, kept, weight)
        self._set_scores(credal, values, weights)

    def _prune(self, root: Node, weighted: np.ndarray, most: int) -> dict[int, tuple[int, ...]]:
        """Cut the tree back and return the set of smallest mistakes of each node, by its id."""
        family = self.focal_sets_
        candidates = family.sorted()  # ties go to smaller sets
        if 1 < family.n_clusters <= MAX_PAIRED_CLUSTERS:
            candidates = family.union(FocalSets.pairs(family.n_clusters, empty=False)).sorted()
        caution = float(np.clip(self.caution, MIN_CAUTION, 1 - MIN_CAUTION))
        loss = mistakes(candidates.membership, family.membership, caution)
        sets, answers, cost = list(candidates), {}, {}
        for node in _depth_first(root):
            expected = loss @ weighted[node.rows].sum(axis=0)
            chosen = int(np.flatnonzero(expected <= expected.min() + TIE_TOLERANCE * len(node.rows))[0])
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
        return self._leaf_of(self._values(join_attributes(X)))

    def predict_mass(self, X: TableLike) -> CredalPartition:
        """Credal partition of the objects: the mean mass of the leaf each comes to."""
        X = join_attributes(X)
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
        X = join_attributes(X)
        answer = self.predict_set(X)
        credal = resolve_input(y, "y").align_partition(X, len(answer))
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
        """Return the (nodes, c) sets that the nodes answer."""
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
        from dempster.plot.explanation import CautiousTreeDisplay  # a view of this value, imported when looked at

        return CautiousTreeDisplay.from_estimator(self, ax=ax, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.required = True
        return tags


def _alike(masses: np.ndarray, family: FocalSets) -> np.ndarray:
    """Return (n, r) points whose squared distances are those of Jousselme et al. (2001) between the masses.

    d(m, m')^2 = (m - m') D (m - m')' / 2 with D the Jaccard indices of the sets. Directions in which the masses hardly
    differ are left out.
    """
    size, axes = np.linalg.eigh(np.asarray(family.jaccard) / 2)
    points = masses @ (axes * np.sqrt(np.maximum(size, 0)))
    points -= points.mean(axis=0)
    size, axes = np.linalg.eigh(points.T @ points)
    kept = np.cumsum(size) > NEGLIGIBLE_SPREAD * size.sum()
    return points @ axes[:, kept]


def _depth_first(node: Node) -> Iterator[Node]:
    nodes = [node]
    while nodes:
        node = nodes.pop()
        yield node
        nodes += reversed(node.children)
