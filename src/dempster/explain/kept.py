"""What doubt is worth: how good a partition is for the objects it is surest of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._types import ArrayLike
from dempster._validation import as_reals, check_choice, is_number, ordered_like, read_fields, shown
from dempster.explain._subject import partition_of
from dempster.explain.classes import checked_classes, cluster_of_class, numbered
from dempster.explain.doubt import doubt_of
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["kept_curve", "KeptCurve"]

_SHARES = np.arange(20, 101, 5) / 100  # below a fifth a few objects decide
_ROUNDING = 1e-9
_MEASURES = ("ari", "accuracy")


@dataclass(frozen=True, eq=False, repr=False)
class KeptCurve:
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
        """Draw the curve (see `dempster.plot.KeptCurveDisplay`)."""
        from dempster.plot import KeptCurveDisplay  # a view of this value, imported when looked at

        return KeptCurveDisplay(curves={"partition": self}).plot(ax=ax, **options)

    def __len__(self) -> int:
        return len(self.share)

    def __repr__(self) -> str:
        points = ", ".join(f"{share:.0%}: {value:.3f}" for share, value in zip(self.share, self.quality, strict=True))
        return f"KeptCurve({self.measure}={{{points}}})"


def kept_curve(
    partition: CredalPartition | ArrayLike,
    y: ArrayLike,
    *,
    shares: ArrayLike = None,
    doubt: ArrayLike = None,
    quality: str = "ari",
) -> KeptCurve:
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
        How doubtful each object is, larger for more; `doubt_of` the partition by default. Labels have none of their
        own.
    quality : {"ari", "accuracy"}, default="ari"
        "ari": the adjusted Rand index of the labels and the classes. "accuracy": share of the objects whose cluster
        stands for their class, when clusters and classes are matched one to one, once, as best for all objects.

    Returns
    -------
    KeptCurve

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
    >>> from dempster.explain import kept_curve
    >>> wine = load_wine()
    >>> X = StandardScaler().fit_transform(wine.data)
    >>> partition = EVCLUS(3, random_state=0).fit(X).credal_partition_
    >>> curve = kept_curve(partition, wine.target, shares=[0.6, 0.8, 1])
    >>> curve
    KeptCurve(ari={60%: 1.000, 80%: 1.000, 100%: 0.949})

    The same for k-means, whose doubt is the ratio of the distances to the two nearest centers:

    >>> k_means = KMeans(3, n_init=10, random_state=0).fit(X)
    >>> near = np.sort(k_means.transform(X), axis=1)
    >>> theirs = kept_curve(k_means.labels_, wine.target, doubt=near[:, 0] / near[:, 1], shares=[0.6, 0.8, 1])
    >>> theirs
    KeptCurve(ari={60%: 1.000, 80%: 0.980, 100%: 0.897})
    """
    credal = partition_of(partition)
    classes = checked_classes(y, credal)
    of_kept = _measure(quality, numbered(classes)[1], credal.labels)
    ranking = doubt_of(credal) if doubt is None else _checked_doubt(ordered_like(doubt, credal.index), len(credal))
    surest_first = np.lexsort((np.random.default_rng(0).permutation(len(ranking)), ranking))
    kept = _checked_shares(shares)
    numbers = np.maximum((kept * len(ranking) + _ROUNDING).astype(int), 1)
    return KeptCurve(kept, np.array([of_kept(surest_first[:number]) for number in numbers]), quality)


def _measure(quality: str, classes: np.ndarray, labels: np.ndarray) -> Callable[[np.ndarray], float]:
    """The quality of some of the objects, given by their positions."""
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
        raise InvalidInputError(f"shares must be numbers above 0 and at most 1, got {shown(shares)}")
    return values
