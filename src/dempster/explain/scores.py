"""Compute doubt scores, and compare a partition with known classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from dempster import _validation as rules
from dempster._errors import InvalidParameterError
from dempster._text import printable
from dempster._types import ArrayLike
from dempster.explain.inputs import resolve_input
from dempster.partition import CredalPartition

_LABELS = {
    "held": "sets that contain the class",
    "size": "mean size of the sets",
    "u65": "utility u65",
    "u80": "utility u80",
    "discounted": "discounted accuracy",
    "accuracy": "accuracy of the labels",
    "certain": "share of single clusters",
    "certain_accuracy": "accuracy of single clusters",
    "outliers": "share of outliers",
}
_SHARES = np.arange(20, 101, 5) / 100
_ROUNDING = 1e-9


def validate_classes(y: ArrayLike, partition: CredalPartition) -> np.ndarray:
    """Validate classes and return them in the order of the objects of a partition."""
    classes = rules.as_labels(y, "y")
    if classes.shape != (len(partition),) or len(partition) == 0:
        raise InvalidParameterError(
            "y", must=f"contain {len(partition)} classes, got shape {classes.shape}"
        )
    order = rules.match_names(rules.row_index(y), partition.index)
    if order is None:
        return classes
    return classes[order]


def encode_classes(classes: np.ndarray) -> tuple[list, np.ndarray]:
    """Return the sorted distinct classes, and the position of the class of each object in them."""
    try:
        names, codes = np.unique(classes, return_inverse=True)
    except TypeError as error:
        must = f"contain only names or only numbers: {error}"
        raise InvalidParameterError("y", must=must) from error
    return names.tolist(), codes


def mean_of_present(values: np.ndarray) -> float:
    """Return the mean of the values that are not NaN; NaN if all values are NaN."""
    present = values[~np.isnan(values)]
    if len(present):
        return float(present.mean(dtype=float))
    return float("nan")


def count_pairs(a: np.ndarray, b: np.ndarray, n_a: int, n_b: int) -> np.ndarray:
    """Return the contingency table of two labelings, shape (n_a, n_b).

    Objects with a negative label are ignored.
    """
    both = (a >= 0) & (b >= 0)
    return np.bincount(a[both] * n_b + b[both], minlength=n_a * n_b).reshape(n_a, n_b)


def match_one_to_one(counts: np.ndarray) -> np.ndarray:
    """Match rows and columns of a contingency table one to one.

    Return the column of each row, or -1.
    """
    from scipy.optimize import linear_sum_assignment  # slow to import

    rows, columns = linear_sum_assignment(counts, maximize=True)
    partner = np.full(len(counts), -1)
    partner[rows] = columns
    return partner


def format_scores(table: pd.DataFrame, labels: Sequence[str], width: int) -> list[str]:
    """Format a table of numbers, with a label for each row, as a header and a line for each row."""
    label_width = max(map(len, labels))
    lines = [
        " " * label_width + "".join(f"  {name:>{width}}" for name in table.columns)
    ]
    for label, values in zip(labels, table.to_numpy(), strict=True):
        cells = ["-" if np.isnan(value) else f"{value:.3f}" for value in values]
        lines.append(
            f"{label:{label_width}}" + "".join(f"  {cell:>{width}}" for cell in cells)
        )
    return lines


@dataclass(frozen=True)
class SetScore:
    """Scores of predictions that are sets of classes.

    Attributes
    ----------
    held : float
        Share of the objects, except outliers, whose set contains their class; NaN if all objects
        are outliers.
    size : float
        Mean number of classes in the sets of all objects except outliers.
    u65, u80 : float
        Mean utility over all objects. The utility is 0 for outliers and for sets without the class
        of the object. Otherwise, u65 is 1.6/s - 0.6/s^2 (0.65 if s = 2) and u80 is 2.2/s - 1.2/s^2
        (0.80 if s = 2) for s classes.
    discounted : float
        Mean discounted accuracy, which is 1/s if a set of s classes contains the class of the
        object, otherwise 0.
    accuracy : float
        Share of the objects whose label is matched with their class.
    certain, certain_accuracy : float
        Share of the objects with a set of one class, and the share of these sets that contain the
        class of their object (NaN if no set has one class).
    outliers : float
        Share of the objects with an empty set.
    """

    held: float
    size: float
    u65: float
    u80: float
    discounted: float
    accuracy: float
    certain: float
    certain_accuracy: float
    outliers: float


@dataclass(frozen=True)
class SetScores(SetScore):
    """Scores of a partition (see `SetScore`), scores of baselines, and the class of each cluster.

    Attributes
    ----------
    baselines : mapping of str to SetScore
        Scores of three simpler predictions. "labels alone" predicts the label of each object
        instead of its set, "all classes" predicts the set of all classes, and "largest class"
        predicts the most frequent class.
    class_of : mapping of clusters to classes
        Class of each cluster; clusters without a class are omitted.
    """

    baselines: Mapping[str, SetScore]
    class_of: Mapping[Any, Any]

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each score and a column for each prediction.

        Returns
        -------
        pandas.DataFrame
        """
        columns: dict[str, SetScore] = {"partition": self, **self.baselines}
        rows = [
            [getattr(scores, key) for scores in columns.values()] for key in _LABELS
        ]
        return pd.DataFrame(rows, index=list(_LABELS), columns=list(columns))

    def to_text(self) -> str:
        """Return the table as text.

        Returns
        -------
        str
        """
        lines = format_scores(self.to_frame(), list(_LABELS.values()), 13)
        pairs = ", ".join(
            f"{printable(k)} = {printable(v)}" for k, v in self.class_of.items()
        )
        return "\n".join([*lines, f"clusters matched with classes: {pairs or 'none'}"])

    __repr__ = to_text


def set_scores(
    partition: CredalPartition | ArrayLike,
    y: ArrayLike,
) -> SetScores:
    """Score the sets of clusters of objects with known classes, and compare with baselines.

    The partition assigns each object to a set of clusters. A set is correct if it contains the
    class of the object. The utility of a correct set decreases with its size. The utilities u65 and
    u80 of a correct set of two classes are 0.65 and 0.80.

    Parameters
    ----------
    partition : CredalPartition, fitted estimator or pipeline that has one, or array-like of labels
        Partition to score.
    y : array-like of shape (n,)
        Classes, names or numbers. A pandas Series with an index is matched with the names of the
        objects.

    Returns
    -------
    SetScores

    Notes
    -----
    Clusters are matched one to one with classes, so that the number of correct labels is largest.
    If there are more clusters than classes, each cluster is matched with the most frequent class of
    its objects.

    The size of a set is its number of classes. Clusters that are matched with the same class count
    once, and each cluster without a class counts as a further class.

    References
    ----------
    M. Zaffalon, G. Corani and D. Maua (2012). Evaluating credal classifiers by utility-discounted
    predictive accuracy. International Journal of Approximate Reasoning 53.

    Examples
    --------
    >>> from dempster.cluster import EVCLUS
    >>> from dempster.datasets import load_iris
    >>> from dempster.explain import set_scores
    >>> iris = load_iris()
    >>> scores = set_scores(EVCLUS(3, random_state=0).fit(iris.data).credal_partition_, iris.target)
    >>> scores.held > scores.accuracy
    True
    >>> list(scores.baselines)
    ['labels alone', 'all classes', 'largest class']
    """
    credal = resolve_input(partition).partition
    names, truth = encode_classes(validate_classes(y, credal))
    c = credal.n_clusters
    k = len(names)
    counts = count_pairs(credal.labels, truth, c, k)
    if c <= k:
        class_of = match_one_to_one(counts)
    else:
        class_of = np.where(counts.any(axis=1), counts.argmax(axis=1), -1)
    # The columns are the classes, followed by one column for each cluster without a class.
    column = np.where(class_of >= 0, class_of, k + np.arange(c))
    one_hot = np.eye(k + c, dtype=bool)
    sets = credal.assignment(keep_outliers=False).astype(float) @ one_hot[column] > 0
    labels = column[credal.labels]
    largest = np.full(len(truth), np.bincount(truth).argmax())
    all_classes = np.zeros_like(sets)
    all_classes[:, :k] = True
    return SetScores(
        **asdict(_score(sets, truth, labels)),
        baselines={
            "labels alone": _score(one_hot[labels], truth, labels),
            "all classes": _score(all_classes, truth, largest),
            "largest class": _score(one_hot[largest], truth, largest),
        },
        class_of={
            credal.frame[j]: names[class_of[j]] for j in range(c) if class_of[j] >= 0
        },
    )


def _score(sets: np.ndarray, truth: np.ndarray, labels: np.ndarray) -> SetScore:
    """Score sets of classes, given as rows of a Boolean array.

    ``truth`` is -1 for objects without a class.
    """
    size = sets.sum(axis=1)
    answered = size > 0
    held = sets[np.arange(len(sets)), truth]
    discounted = np.divide(held, size, out=np.zeros(len(sets)), where=answered)
    certain = size == 1
    return SetScore(
        held=mean_of_present(held[answered]),
        size=mean_of_present(size[answered]),
        # The utilities are 1.6 x - 0.6 x^2 and 2.2 x - 1.2 x^2 with the discounted accuracy x = 1/s
        # (Zaffalon, Corani and Maua, 2012). This form is exactly 1 for x = 1.
        u65=mean_of_present(discounted + 0.6 * discounted * (1 - discounted)),
        u80=mean_of_present(discounted + 1.2 * discounted * (1 - discounted)),
        discounted=mean_of_present(discounted),
        accuracy=mean_of_present(labels == truth),
        certain=mean_of_present(certain),
        certain_accuracy=mean_of_present(held[certain]),
        outliers=mean_of_present(~answered),
    )


def doubt_scores(partition: CredalPartition | Any) -> np.ndarray:
    r"""Return the doubt of each object, 0 if certain, 1 if ambiguous, and above 1 for outliers.

    Let pl_1 >= pl_2 be the two largest plausibilities of an object. Its doubt is one minus their
    relative margin,

    .. math::

        1 - \frac{pl_1 - pl_2}{pl_1} = \frac{pl_2}{pl_1},

    which does not depend on the mass on the empty set. An outlier, an object whose largest mass m
    is on the empty set, has the doubt 1 + m.

    Parameters
    ----------
    partition : CredalPartition, fitted estimator or pipeline that has one, or array-like of labels
        Partition of the objects.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> from dempster import CredalPartition, FocalSets
    >>> from dempster.explain import doubt_scores
    >>> certain, ambiguous, outlier = [0, 1, 0, 0], [0, 0.2, 0, 0.8], [0.9, 0.1, 0, 0]
    >>> doubt_scores(CredalPartition([certain, ambiguous, outlier], FocalSets.full(2)))
    array([0. , 0.8, 1.9])
    """
    credal = resolve_input(partition).partition
    plausible = np.sort(np.asarray(credal.contour, float))
    first = plausible[:, -1]
    second = plausible[:, -2] if credal.n_clusters > 1 else np.zeros(len(credal))
    doubt = np.where(first > 0, second / np.where(first > 0, first, 1), 1)
    outliers = credal.outliers
    if len(outliers):
        doubt[outliers] = 1 + credal.empty[outliers]
    return doubt


@dataclass(frozen=True, eq=False, repr=False)
class RetentionCurve:
    """Quality of a partition as a function of the share of objects that are kept.

    Attributes
    ----------
    share : array of shape (k,)
        Shares of the objects that are kept, in increasing order.
    quality : array of shape (k,)
        Adjusted Rand index of clusters and classes among the objects that are kept, for each share.
    """

    share: np.ndarray
    quality: np.ndarray

    def at(self, share: float) -> float:
        """Return the quality at the given share of kept objects, by linear interpolation.

        Parameters
        ----------
        share : float
            Share of kept objects, between the first and the last value of ``share``.

        Returns
        -------
        float
        """
        low, high = self.share[[0, -1]]
        rules.check(share, "share", rules.real(low - _ROUNDING, high + _ROUNDING))
        return float(np.interp(share, self.share, self.quality))

    @property
    def area(self) -> float:
        """Area under the curve divided by its width, that is, the mean quality."""
        share = self.share
        if len(share) == 1:
            return float(self.quality[0])
        heights = (self.quality[1:] + self.quality[:-1]) / 2
        return float(heights @ np.diff(share) / (share[-1] - share[0]))

    def plot(self, name: str = "partition", *, ax: Any = None, **options: Any) -> Any:
        """Plot the quality against the share of retained objects.

        If the doubt is informative, the quality is higher on the left, where only the objects with
        the least doubt are retained.

        Parameters
        ----------
        name : str, default="partition"
            Name of the curve in the legend.
        ax : Matplotlib axes, optional
            By default the axes of a new figure. To compare partitions, plot their curves in the
            same axes.
        **options
            ``colors`` (a sequence of one color), and the ``title``.

        Returns
        -------
        display
            Object with the attributes ``ax_``, ``figure_`` and ``lines_``.
        """
        # dempster.plot imports this package
        from dempster.plot.quality import RetentionCurveDisplay

        return RetentionCurveDisplay(curves={name: self}).plot(ax=ax, **options)

    def __repr__(self) -> str:
        pairs = zip(self.share, self.quality, strict=True)
        points = ", ".join(f"{share:.0%}: {value:.3f}" for share, value in pairs)
        return f"RetentionCurve(ari={{{points}}})"


def retention_curve(
    partition: CredalPartition | ArrayLike,
    y: ArrayLike,
    *,
    shares: ArrayLike = None,
    doubt: ArrayLike = None,
) -> RetentionCurve:
    """Compute the quality of a partition after removing shares of the most doubtful objects.

    The quality is the adjusted Rand index of labels and classes. It increases quickly if the most
    doubtful objects are those with wrong labels. Compare the curve with the curve of another
    ranking of the same objects, such as the margin of k-means or the posterior probability of a
    mixture.

    Parameters
    ----------
    partition : CredalPartition, fitted estimator or pipeline that has one, or array-like of labels
        The label -1 marks noise, which is removed first.
    y : array-like of shape (n,)
        True classes, names or numbers.
    shares : array-like, optional
        Shares of the objects to keep, in (0, 1]; 20 % to 100 % in steps of 5 % by default. At least
        one object is kept.
    doubt : array-like of shape (n,), optional
        Doubt of each object; by default `doubt_scores` of the partition.

    Returns
    -------
    RetentionCurve

    Notes
    -----
    Objects with equal doubt are removed in a fixed random order, because rows are often sorted by
    class.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.preprocessing import StandardScaler
    >>> from dempster.cluster import EVCLUS
    >>> from dempster.datasets import load_wine
    >>> from dempster.explain import retention_curve
    >>> wine = load_wine()
    >>> X = StandardScaler().fit_transform(wine.data)
    >>> partition = EVCLUS(3, random_state=0).fit(X).credal_partition_
    >>> curve = retention_curve(partition, wine.target, shares=[0.6, 0.8, 1])
    >>> curve
    RetentionCurve(ari={60%: 1.000, 80%: 1.000, 100%: 0.949})

    For k-means, define the doubt as the ratio of the distances to the two nearest centers:

    >>> k_means = KMeans(3, n_init=10, random_state=0).fit(X)
    >>> near = np.sort(k_means.transform(X), axis=1)
    >>> doubt = near[:, 0] / near[:, 1]
    >>> retention_curve(k_means.labels_, wine.target, doubt=doubt, shares=[0.6, 0.8, 1])
    RetentionCurve(ari={60%: 1.000, 80%: 0.980, 100%: 0.897})
    """
    from sklearn.metrics import adjusted_rand_score  # slow to import

    credal = resolve_input(partition).partition
    classes = encode_classes(validate_classes(y, credal))[1]
    n = len(credal)
    labels = credal.labels
    if doubt is None:
        ranking = doubt_scores(credal)
    else:
        ranking = rules.as_numbers(rules.reorder_like(doubt, credal.index), "doubt")
        if ranking.shape != (n,):
            raise InvalidParameterError(
                "doubt", must=f"contain {n} numbers, got shape {ranking.shape}"
            )
    kept = _SHARES
    if shares is not None:
        kept = np.unique(rules.as_floats(shares, "shares"))
    if len(kept) == 0 or not ((kept > 0) & (kept <= 1)).all():
        raise InvalidParameterError("shares", "numbers above 0 and at most 1", shares)
    order = np.lexsort((np.random.default_rng(0).permutation(n), ranking))
    selections = [order[: max(int(share * n + _ROUNDING), 1)] for share in kept]
    values = [adjusted_rand_score(classes[rows], labels[rows]) for rows in selections]
    return RetentionCurve(kept, np.array(values, float))
