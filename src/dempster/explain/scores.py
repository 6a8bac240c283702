"""Answers that are sets, held against known classes: are they right, how large are they, and what is that worth?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._text import printable
from dempster._types import ArrayLike
from dempster._validation import check, check_choice, hashable, same_label
from dempster.explain._subject import partition_of
from dempster.explain.classes import checked_classes, class_of_cluster, numbered, shared_objects
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["set_scores", "SetScores", "SetScore"]

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
    credal = partition_of(partition)
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
    """The scores of (n, classes) Boolean answers; the truth is -1 for objects of no class."""
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
