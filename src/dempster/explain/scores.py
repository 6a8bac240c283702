"""Compare a partition with known classes: sets as answers, the objects it is surest of, and how doubtful each is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._text import printable
from dempster._types import ArrayLike
from dempster._validation import (
    as_labels,
    as_reals,
    check,
    check_choice,
    hashable,
    is_number,
    object_index,
    order_of_names,
    ordered_like,
    read_fields,
    same_label,
    shown,
)
from dempster.explain.inputs import resolve_input
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    import pandas as pd


_MATCHINGS = ("auto", "one_to_one", "majority")
_WORDS = {
    "held": "sets that hold the class",
    "size": "mean size of the sets",
    "u65": "utility u65",
    "u80": "utility u80",
    "discounted": "discounted accuracy",
    "accuracy": "accuracy of the labels",
    "certain": "share of single answers",
    "certain_accuracy": "accuracy of single answers",
    "outliers": "share of outliers",
}
_SHARES = np.arange(20, 101, 5) / 100  # below a fifth a few objects decide
_ROUNDING = 1e-9
_MEASURES = ("ari", "accuracy")


def checked_classes(y: ArrayLike, partition: CredalPartition) -> np.ndarray:
    """Validate the (n,) classes of the objects of a partition and return them in their order."""
    classes = as_labels(y, "y")
    if classes.shape != (len(partition),) or len(partition) == 0:
        raise InvalidInputError(f"y must hold the classes of {len(partition)} objects, got shape {classes.shape}")
    order = order_of_names(object_index(y), partition.index)
    return classes if order is None else classes[order]


def numbered(classes: np.ndarray) -> tuple[list, np.ndarray]:
    """Return the different classes in order, and the (n,) positions of the objects' classes among them."""
    try:
        names, codes = np.unique(classes, return_inverse=True)
    except TypeError as error:
        raise InvalidInputError(f"y must hold classes of one kind, names or numbers: {error}") from error
    return names.tolist(), codes


def shared_objects(a: np.ndarray, b: np.ndarray, n_a: int | None = None, n_b: int | None = None) -> np.ndarray:
    """Count the objects of each pair of numbers, (n_a, n_b); objects with a negative number count nowhere."""
    known = (a >= 0) & (b >= 0)
    n_a = int(a.max(initial=-1)) + 1 if n_a is None else n_a
    n_b = int(b.max(initial=-1)) + 1 if n_b is None else n_b
    return np.bincount(a[known] * n_b + b[known], minlength=n_a * n_b).reshape(n_a, n_b)


def one_to_one(shared: np.ndarray) -> np.ndarray:
    """Match rows with columns so that as many objects as possible agree (Kuhn, 1955); -1 for none."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(shared, maximize=True)
    partner = np.full(len(shared), -1)
    partner[rows] = columns
    return partner


def cluster_of_class(classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the cluster that stands for each class, matched one to one, -1 for none; both are numbers from 0."""
    return one_to_one(shared_objects(classes, labels))


def class_of_cluster(shared: np.ndarray, rule: str) -> np.ndarray:
    """Return the class that each cluster stands for, -1 for none, from the (clusters, classes) counts of objects.

    ``"one_to_one"``: no two clusters for a class. ``"majority"``: the class of most of its objects, the first on ties.
    """
    if rule == "one_to_one":
        return one_to_one(shared)
    return np.where(shared.any(axis=1), shared.argmax(axis=1), -1)


@dataclass(frozen=True)
class SetScore:
    """What some set-valued answers are worth.

    Attributes
    ----------
    held : float
        Share of the objects with an answer whose set holds their class; NaN if no object has one.
    size : float
        Mean number of classes in these sets.
    u65, u80 : float
        Mean utility over all objects, none for outliers: a right answer of s classes is worth 1.6/s - 0.6/s^2, or
        2.2/s - 1.2/s^2, so that 1 of 2 is worth 0.65, or 0.80, where it would be worth 0.5 if one had to guess.
    discounted : float
        Mean of 1/s for right answers: the accuracy of guessing within the sets.
    accuracy : float
        Share of the objects whose single label stands for their class.
    certain, certain_accuracy : float
        Share of the objects with a single answer, and how many of these are right (NaN if there are none).
    outliers : float
        Share of the objects without an answer.
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
    """The scores of a partition (see `SetScore`), those of trivial answers, and how clusters and classes were matched.

    Attributes
    ----------
    baselines : mapping of str to SetScore
        "labels alone": the label of every object instead of its set. "all classes": the same set of all classes for
        every object, always right and of no use. "largest class": the most frequent class for every object.
    class_of : mapping of clusters to classes
        What each cluster stands for; clusters that stand for no class are not in it.
    """

    baselines: Mapping[str, SetScore]
    class_of: Mapping[Any, Any]

    def to_frame(self) -> pd.DataFrame:
        """A row for each score; a column for the partition and for each trivial answer."""
        import pandas as pd

        columns: dict[str, SetScore] = {"partition": self, **self.baselines}
        return pd.DataFrame({name: {key: getattr(one, key) for key in _WORDS} for name, one in columns.items()})

    def to_text(self) -> str:
        """The table in words."""
        columns: dict[str, SetScore] = {"partition": self, **self.baselines}
        width = max(map(len, _WORDS.values()))
        lines = [" " * width + "".join(f"  {name:>13}" for name in columns)]
        for key, words in _WORDS.items():
            values = [getattr(one, key) for one in columns.values()]
            cells = ("-" if np.isnan(value) else f"{value:.3f}" for value in values)
            lines.append(f"{words:{width}}" + "".join(f"  {cell:>13}" for cell in cells))
        pairs = ", ".join(f"{printable(k)} stands for {printable(v)}" for k, v in self.class_of.items())
        return "\n".join([*lines, f"clusters: {pairs or 'none stands for a class'}"])

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        named = ("held", "size", "u65", "u80", "accuracy", "outliers")
        return f"SetScores({', '.join(f'{name}={getattr(self, name):.3f}' for name in named)})"


def set_scores(
    partition: CredalPartition | ArrayLike,
    y: ArrayLike,
    *,
    rule: str = "max_mass",
    matching: str = "auto",
    noise: Any = None,
) -> SetScores:
    """How well set-valued answers agree with known classes, beside trivial ones.

    An object in doubt between clusters 2 and 3 is answered with a set. It is right if the set holds the class, and
    worth less the larger it is; how much less is a matter of taste, and u65 and u80 are two tastes with a name.

    Parameters
    ----------
    partition : CredalPartition, fitted estimator (or pipeline) that has one, or array-like of n labels
    y : array-like of shape (n,)
        Classes, of any kind. A pandas Series with names is matched with the names of the objects.
    rule : {"max_mass", "interval_dominance"}
        Which set is the answer, as in `CredalPartition.assignment`; outliers have none.
    matching : {"auto", "one_to_one", "majority"}
        Which class a cluster stands for. "one_to_one": no two clusters for the same class, so that as many labels as
        possible are right; with more classes than clusters some have no cluster and are always missed, with more
        clusters some stand for nothing and are always wrong. "majority": the class of most of its objects. "auto": one
        to one unless there are more clusters than classes.
    noise : optional
        The value of ``y`` that marks objects which belong to no class. For them it is right to be an outlier, and
        wrong to be anywhere.

    Returns
    -------
    SetScores

    Notes
    -----
    Clusters that stand for the same class count once in the size of a set, a cluster that stands for nothing as a
    class of its own.

    References
    ----------
    M. Zaffalon, G. Corani and D. Maua (2012). Evaluating credal classifiers by utility-discounted predictive accuracy.
    International Journal of Approximate Reasoning 53.

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
    given = checked_classes(y, credal)
    check_choice(matching, "matching", _MATCHINGS)
    check(noise, "noise", hashable)
    real = np.array([not same_label(label, noise) for label in given.tolist()], dtype=bool)
    names, codes = numbered(given[real])
    if len(names) == 0:
        raise InvalidInputError(f"y must hold at least one object of a class, but all are noise ({noise!r})")
    truth = np.full(len(given), -1)
    truth[real] = codes
    c, k = credal.n_clusters, len(names)
    chosen = matching if matching != "auto" else ("one_to_one" if c <= k else "majority")
    stands_for = class_of_cluster(shared_objects(credal.labels, truth, c, k), chosen)
    # classes, then a column of its own for each cluster that stands for none
    answer = np.where(stands_for >= 0, stands_for, k + np.arange(c))
    table = np.zeros((c, k + c))
    table[np.arange(c), answer] = 1
    sets = credal.assignment(rule, keep_outliers=False).astype(float) @ table > 0
    labels = answer[credal.labels]
    alone = np.zeros_like(sets)
    alone[np.arange(len(sets)), labels] = True
    every, largest = np.zeros_like(sets), np.zeros_like(sets)
    every[:, :k] = True
    most = int(np.bincount(codes).argmax())
    largest[:, most] = True
    scores = _score(sets, truth, labels)
    return SetScores(
        **asdict(scores),
        baselines={
            "labels alone": _score(alone, truth, labels),
            "all classes": _score(every, truth, np.full(len(truth), most)),
            "largest class": _score(largest, truth, np.full(len(truth), most)),
        },
        class_of={credal.frame[j]: names[stands_for[j]] for j in range(c) if stands_for[j] >= 0},
    )


def _score(sets: np.ndarray, truth: np.ndarray, labels: np.ndarray) -> SetScore:
    """Score (n, classes) Boolean answers; the truth is -1 for objects of no class."""
    size = sets.sum(axis=1)
    answered = size > 0
    held = sets[np.arange(len(sets)), np.maximum(truth, 0)] & (truth >= 0)
    discounted = np.divide(held, size, out=np.zeros(len(sets)), where=answered)
    discounted[~answered & (truth < 0)] = 1  # of no class, and said so
    certain = size == 1

    def mean(values: np.ndarray) -> float:
        return float(values.mean()) if len(values) else float("nan")

    return SetScore(
        held=mean(held[answered]),
        size=mean(size[answered]),
        # 1.6 x - 0.6 x^2 and 2.2 x - 1.2 x^2 of the discounted accuracy x = 1/s (Zaffalon, Corani and Maua, 2012), in a
        # form that is 1 to the last digit for a single right answer
        u65=mean(discounted + 0.6 * discounted * (1 - discounted)),
        u80=mean(discounted + 1.2 * discounted * (1 - discounted)),
        discounted=mean(discounted),
        accuracy=mean(labels == truth),
        certain=mean(certain),
        certain_accuracy=mean(held[certain]),
        outliers=mean(~answered),
    )


def doubt_scores(partition: CredalPartition | Any) -> np.ndarray:
    """(n,) doubt of the objects of a partition, from 0 (certain) to 1 (torn), beyond 1 for outliers.

    With pl_1 >= pl_2 the two largest plausibilities of an object, its doubt is one minus their relative margin,

        1 - (pl_1 - pl_2) / pl_1 = pl_2 / pl_1,

    whatever its mass on the empty set. An outlier, an object whose largest mass m is on the empty set, belongs nowhere
    and comes before all others, with doubt 1 + m.

    Parameters
    ----------
    partition : CredalPartition, fitted estimator (or pipeline) that has one, or array-like of n labels

    Examples
    --------
    >>> from dempster import CredalPartition, FocalSets
    >>> from dempster.explain import doubt_scores
    >>> sure, torn, outlier = [0, 1, 0, 0], [0, 0.2, 0, 0.8], [0.9, 0.1, 0, 0]
    >>> doubt_scores(CredalPartition([sure, torn, outlier], FocalSets.full(2)))
    array([0. , 0.8, 1.9])
    """
    credal = resolve_input(partition).partition
    plausible = np.sort(np.asarray(credal.contour, dtype=float), axis=1)
    first = plausible[:, -1]
    second = plausible[:, -2] if credal.n_clusters > 1 else np.zeros(len(credal))
    doubt = np.where(first > 0, second / np.where(first > 0, first, 1), 1)
    outliers = credal.outliers
    if len(outliers):
        doubt[outliers] = 1 + credal.masses[outliers, credal.focal_sets.empty_index]
    return doubt


@dataclass(frozen=True, eq=False, repr=False)
class RetentionCurve:
    """Quality of a partition for the objects it is surest of.

    Attributes
    ----------
    share : (k,) array
        Shares of the objects that are kept, increasing.
    quality : (k,) array
        Agreement of clusters and classes among the objects kept.
    measure : str
        What the quality is: "ari" or "accuracy".
    """

    share: np.ndarray
    quality: np.ndarray
    measure: str

    def __post_init__(self) -> None:
        read_fields(self, share="k", quality="k")
        check_choice(self.measure, "measure", _MEASURES)
        if not ((self.share > 0) & (self.share <= 1)).all() or (np.diff(self.share) <= 0).any():
            raise InvalidInputError(
                f"share must hold shares above 0 and at most 1, increasing, got {shown(self.share)}"
            )

    def at(self, share: float) -> float:
        """Quality when this share of the objects is kept; between two shares, on the line that joins them."""
        low, high = self.share[0], self.share[-1]
        if not is_number(share) or not low - _ROUNDING <= share <= high + _ROUNDING:
            raise InvalidInputError(f"share must lie between {low:g} and {high:g}, got {shown(share)}")
        return float(np.interp(share, self.share, self.quality))

    @property
    def area(self) -> float:
        """Mean quality over the shares of the curve: the area under it over its width."""
        if len(self.share) == 1:
            return float(self.quality[0])
        heights = (self.quality[1:] + self.quality[:-1]) / 2
        return float(heights @ np.diff(self.share) / (self.share[-1] - self.share[0]))

    def to_frame(self) -> pd.DataFrame:
        """Quality by the share of objects kept."""
        import pandas as pd

        return pd.DataFrame({self.measure: self.quality}, index=pd.Index(self.share, name="share"))

    def plot(self, *, ax: Any = None, **options: Any) -> Any:
        """Draw the curve (see `dempster.plot.RetentionCurveDisplay`)."""
        from dempster.plot.quality import RetentionCurveDisplay  # a view of this value, imported when looked at

        return RetentionCurveDisplay(curves={"partition": self}).plot(ax=ax, **options)

    def __len__(self) -> int:
        return len(self.share)

    def __repr__(self) -> str:
        points = ", ".join(f"{share:.0%}: {value:.3f}" for share, value in zip(self.share, self.quality, strict=True))
        return f"RetentionCurve({self.measure}={{{points}}})"


def retention_curve(
    partition: CredalPartition | ArrayLike,
    y: ArrayLike,
    *,
    shares: ArrayLike = None,
    doubt: ArrayLike = None,
    quality: str = "ari",
) -> RetentionCurve:
    """How good a partition is for the objects that are left when the most doubtful ones are put aside.

    A method that knows what it does not know has a curve that rises quickly as fewer objects are kept. The curve of
    another ranking of the same objects, such as the margin of k-means or the posterior of a mixture, shows whether
    the doubt is worth more than theirs.

    Parameters
    ----------
    partition : CredalPartition, fitted estimator (or pipeline) that has one, or array-like of n labels
        Of labels -1 marks noise, put aside first.
    y : array-like of shape (n,)
        True classes, of any kind.
    shares : array-like, optional
        Shares of the objects to keep, in (0, 1], in any order; 20 % to 100 % in steps of 5 % by default. Each keeps
        at least one object.
    doubt : array-like of shape (n,), optional
        How doubtful each object is, larger for more; `doubt_scores` the partition by default. Labels have none of their
        own.
    quality : {"ari", "accuracy"}, default="ari"
        "ari": the adjusted Rand index of the labels and the classes. "accuracy": share of the objects whose cluster
        stands for their class, when clusters and classes are matched one to one, once, as best for all objects.

    Returns
    -------
    RetentionCurve

    Notes
    -----
    Objects of equal doubt are put aside in a fixed order that has nothing to do with their rows, which are often
    sorted by class.

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

    The same for k-means, whose doubt is the ratio of the distances to the two nearest centers:

    >>> k_means = KMeans(3, n_init=10, random_state=0).fit(X)
    >>> near = np.sort(k_means.transform(X), axis=1)
    >>> theirs = retention_curve(k_means.labels_, wine.target, doubt=near[:, 0] / near[:, 1], shares=[0.6, 0.8, 1])
    >>> theirs
    RetentionCurve(ari={60%: 1.000, 80%: 0.980, 100%: 0.897})
    """
    credal = resolve_input(partition).partition
    classes = checked_classes(y, credal)
    of_kept = _measure(quality, numbered(classes)[1], credal.labels)
    ranking = doubt_scores(credal) if doubt is None else _checked_doubt(ordered_like(doubt, credal.index), len(credal))
    surest_first = np.lexsort((np.random.default_rng(0).permutation(len(ranking)), ranking))
    kept = _checked_shares(shares)
    numbers = np.maximum((kept * len(ranking) + _ROUNDING).astype(int), 1)
    return RetentionCurve(kept, np.array([of_kept(surest_first[:number]) for number in numbers]), quality)


def _measure(quality: str, classes: np.ndarray, labels: np.ndarray) -> Callable[[np.ndarray], float]:
    """Return a function that measures the quality of the objects at some positions."""
    check_choice(quality, "quality", _MEASURES)
    if quality == "ari":
        from sklearn.metrics import adjusted_rand_score

        return lambda some: float(adjusted_rand_score(classes[some], labels[some]))
    right = labels == cluster_of_class(classes, labels)[classes]
    return lambda some: float(right[some].mean())


def _checked_doubt(doubt: Any, n: int) -> np.ndarray:
    values = as_reals(doubt, "doubt").astype(float, copy=False)
    if values.shape != (n,) or not np.isfinite(values).all():
        raise InvalidInputError(f"doubt must hold {n} finite numbers, one for each object, got shape {values.shape}")
    return values


def _checked_shares(shares: Any) -> np.ndarray:
    values = _SHARES if shares is None else np.unique(as_reals(shares, "shares").astype(float, copy=False))
    if values.ndim != 1 or len(values) == 0 or not ((values > 0) & (values <= 1)).all():
        raise InvalidParameterError("shares", "numbers above 0 and at most 1", shares)
    return values
