"""The result of every clustering: a mass function over sets of clusters for each object."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dempster._arrays import Array, copied, frozen, library_of, looked_up, positions_where, to_host
from dempster._errors import InvalidInputError
from dempster._validation import check, check_choice, check_flags, choice, kind, names_of_table, object_index, shown
from dempster.belief import FocalSets, MassFunctions
from dempster.partition import convert
from dempster.partition.relational import RelationalPartition

if TYPE_CHECKING:
    from dempster.optimize.blocks import Apply
    from dempster.partition.summary import PartitionSummary

__all__ = ["CredalPartition", "as_credal_partition", "find_labels"]


class CredalPartition(MassFunctions):
    """A credal (evidential) partition of n objects into c clusters.

    Mass on {k} says that the object belongs to cluster k, mass on {k, l} that it belongs to one of the two and the
    data cannot say which, mass on the empty set that it belongs to none of the clusters (an outlier).

    Parameters
    ----------
    masses : array-like of shape (n, f), or MassFunctions
    focal_sets : FocalSets
    index : sequence of length n, optional
        Names of the objects.
    frame : sequence of length c, optional
        Names of the clusters.
    metadata : mapping, optional
        How it was made: method, parameters, objective, iterations, convergence, seed. Estimators fill it in.

    References
    ----------
    T. Denoeux and M.-H. Masson (2004). EVCLUS: evidential clustering of proximity data. IEEE Trans. SMC B 34.

    Examples
    --------
    >>> from dempster import CredalPartition, FocalSets
    >>> sure, torn, outlier = [0, 1, 0, 0], [0, 0.1, 0.1, 0.8], [0.9, 0.1, 0, 0]
    >>> cp = CredalPartition([sure, torn, outlier], FocalSets.full(2))
    >>> cp.labels, cp.ambiguous, cp.outliers
    (array([0, 0, 0]), array([1]), array([2]))
    >>> cp.lower(0), cp.upper(0)
    (array([0]), array([0, 1]))
    """

    def __init__(
        self,
        masses: Any,
        focal_sets: FocalSets | None = None,
        index: Sequence[Hashable] | None = None,
        *,
        frame: Sequence[Hashable] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ):
        super().__init__(masses, focal_sets, index, frame=frame)
        check(metadata, "metadata", choice(None) | kind(Mapping, words="values by name"))
        self.metadata = dict(metadata or {})

    def _set(self, masses, focal_sets, index, frame, metadata=None) -> None:
        super()._set(masses, focal_sets, index, frame)
        self.metadata = dict(metadata or {})

    def _selected(self, masses: Array, index: Any) -> Self:
        return type(self).unchecked(masses, self.focal_sets, index, self.frame, metadata=self.metadata)

    # ---- other ways to make one -----------------------------------------------------------------------------------

    @classmethod
    def from_hard(cls, labels: Any, *, noise: Any = -1, index: Sequence[Hashable] | None = None) -> Self:
        """From labels of any kind; ``noise`` (-1, as in scikit-learn) marks objects that belong to no cluster.

        The names of the objects are ``index``, or those of the rows if the labels are a pandas column.
        """
        masses, family, names = convert.masses_from_hard(labels, noise)
        return cls(masses, family, object_index(labels) if index is None else index, frame=names)

    @classmethod
    def from_fuzzy(cls, memberships: Any, **keywords) -> Self:
        """From a fuzzy partition (n, c), rows summing to at most one; what is missing goes to the empty set."""
        return cls(*convert.masses_from_fuzzy(memberships), **(names_of_table(memberships) | keywords))

    @classmethod
    def from_soft(
        cls,
        memberships: Any,
        *,
        rule: str = "plausibility",
        remainder: str = "outlier",
        max_size: int | None = 2,
        index: Sequence[Hashable] | None = None,
        frame: Sequence[Hashable] | None = None,
    ) -> Self:
        """From the memberships of any other method, which become doubt where they are similar.

        `from_fuzzy` takes a membership for a mass: an object with 0.5 in each of two clusters is half in one and half
        in the other, and never ambiguous. Here such an object *may be in either*. With the memberships of an object
        in decreasing order, u_1 >= u_2 >= ..., the mass of the first k clusters together is

            (u_k - u_(k+1)) / u_1     rule "plausibility": plausibilities are memberships over the largest one,
            k (u_k - u_(k+1))         rule "pignistic": the least committed masses of which they are the pignistic
                                      probabilities (Dubois, Prade and Smets, 2008),

        times the sum of the memberships. What is missing to one is mass of the empty set, or of the whole frame.

        Parameters
        ----------
        memberships : array-like or table of shape (n, c)
            Nonnegative, rows summing to at most one: posteriors of a Gaussian mixture, fuzzy c-means, HDBSCAN's
            ``all_points_membership_vectors``. A pandas table gives the names of objects and clusters.
        rule : {"plausibility", "pignistic"}
            The first calls an object ambiguous if u_2 > u_1 / 2, the second, more cautious, if u_2 > u_1 / 3 (of two
            clusters). ``fuzzy(rule)`` gives the memberships back if ``max_size`` left all sets as they are.
        remainder : {"outlier", "ignorance"}
            What a row that sums to less than one says: the object is in none of the clusters (HDBSCAN), or one does
            not know in which.
        max_size : int or None, default=2
            Largest sets besides the whole frame, to which larger ones give their mass. None keeps them all, which
            may be as many as there are objects.
        index, frame : sequences, optional
            Names of the objects and of the clusters.

        References
        ----------
        G. Shafer (1976). A Mathematical Theory of Evidence. Princeton University Press, chapter 11.

        D. Dubois, H. Prade and P. Smets (2008). A definition of subjective possibility. International Journal of
        Approximate Reasoning 48.

        Examples
        --------
        >>> from dempster import CredalPartition
        >>> cp = CredalPartition.from_soft([[0.9, 0.1, 0.0], [0.0, 0.45, 0.55], [0.1, 0.0, 0.0]])
        >>> cp.labels, cp.ambiguous, cp.outliers
        (array([0, 2, 0]), array([1]), array([2]))
        """
        masses, family = convert.masses_from_soft(memberships, rule, remainder, max_size)
        names = names_of_table(memberships)
        index = names["index"] if index is None else index
        return cls(masses, family, index, frame=names["frame"] if frame is None else frame)

    @classmethod
    def from_possibilistic(cls, possibilities: Any, **keywords) -> Self:
        """From degrees of possibility (n, c) in [0, 1]: nested masses whose plausibilities they are."""
        names = names_of_table(possibilities)
        return cls.from_contour(convert.checked_possibilities(possibilities), **(names | keywords))

    @classmethod
    def from_rough(cls, upper: Any, lower: Any = None, **keywords) -> Self:
        """From a rough partition: (n, c) Boolean upper (and, to check, lower) approximations.

        An object in no upper approximation is an outlier.
        """
        return cls(*convert.masses_from_rough(upper, lower), **(names_of_table(upper) | keywords))

    # ---- hard and soft summaries ----------------------------------------------------------------------------------

    @cached_property
    def labels(self) -> Array:
        """Cluster of largest plausibility, 0..c-1; ties go to the lowest number."""
        return frozen(self.hard())

    def hard(self, rule: str = "plausibility") -> Array:
        """Cluster of largest ``"plausibility"``, ``"belief"`` or ``"pignistic"`` probability."""
        check_choice(rule, "rule", ("plausibility", "belief", "pignistic"))
        if rule == "plausibility":
            return self.contour.argmax(axis=1)
        if rule == "belief":
            return self.singleton_belief.argmax(axis=1)
        return self.pignistic(normalized=False).argmax(axis=1)

    @cached_property
    def labels_with_outliers(self) -> Array:
        """`labels`, with -1 for outliers as scikit-learn marks noise."""
        labels = copied(self.labels)
        labels[self.outliers] = -1
        return frozen(labels)

    def fuzzy(self, rule: str = "plausibility") -> Array:
        """(n, c) memberships summing to one: normalised plausibilities, or ``rule="pignistic"``."""
        check_choice(rule, "rule", ("plausibility", "pignistic"))
        return self.plausibility_transform() if rule == "plausibility" else self.pignistic()

    def possibilistic(self, *, normalized: bool = False) -> Array:
        """(n, c) plausibilities of the clusters; divided by 1 - m(empty set) if normalised."""
        return self.plausibility(FocalSets.simple(self.n_clusters, empty=False, omega=False), normalized=normalized)

    # ---- rough summary --------------------------------------------------------------------------------------------

    @cached_property
    def best_set(self) -> Array:
        """Position in `focal_sets` of the set of largest mass; ties go to the smaller set, then the lower position."""
        order = np.argsort(self.focal_sets.cardinality, kind="stable")
        return frozen(looked_up(order, self.masses[:, order].argmax(axis=1)))

    def assignment(self, rule: str = "max_mass", *, keep_outliers: bool = True) -> Array:
        """(n, c) Boolean: the clusters each object is assigned to.

        ``"max_mass"``: the set of largest mass (nothing for outliers). ``"interval_dominance"``: the clusters at
        least as plausible as the most believed one is believed, less the impossible ones; never empty, so with
        ``keep_outliers=False`` the objects whose largest mass is on the empty set are taken out.
        """
        check_choice(rule, "rule", ("max_mass", "interval_dominance"))
        check_flags(keep_outliers=keep_outliers)
        if rule == "max_mass":
            return looked_up(self.focal_sets.membership, self.best_set)
        chosen = self.contour >= library_of(self.masses).amax(self.singleton_belief, 1)[:, None]
        # clusters that are impossible go, unless all are (an outlier, which nothing distinguishes)
        chosen &= (self.contour > 0) | ~(self.contour > 0).any(axis=1)[:, None]
        if not keep_outliers:
            chosen[self.outliers] = False
        return chosen

    def lower(self, cluster: int, rule: str = "max_mass", *, keep_outliers: bool = True) -> Array:
        """Objects that certainly belong to the cluster (positions).

        ``cluster`` is a name of the `frame` (0..c-1 unless others were given); where no name is a number, also the
        position of one.
        """
        chosen = self.assignment(rule, keep_outliers=keep_outliers)
        return positions_where(chosen[:, self._cluster(cluster)] & (chosen.sum(axis=1) == 1))

    def upper(self, cluster: int, rule: str = "max_mass", *, keep_outliers: bool = True) -> Array:
        """Objects that possibly belong to the cluster (positions), which is given as in `lower`."""
        return positions_where(self.assignment(rule, keep_outliers=keep_outliers)[:, self._cluster(cluster)])

    @cached_property
    def outliers(self) -> Array:
        """Objects whose largest mass is on the empty set (positions)."""
        return frozen(positions_where(looked_up(self.focal_sets.cardinality, self.best_set) == 0))

    @cached_property
    def ambiguous(self) -> Array:
        """Objects whose largest mass is on a set of two clusters or more (positions)."""
        return frozen(positions_where(looked_up(self.focal_sets.cardinality, self.best_set) > 1))

    # ---- pairs and quality ----------------------------------------------------------------------------------------

    def relational(self, pairs: Any = None) -> RelationalPartition:
        """Masses on {empty, same, different, unknown} for the given pairs of objects, or lazily for all."""
        return RelationalPartition(self.to_numpy(), pairs)

    def nonspecificity_index(self) -> float:
        """N*: mean nonspecificity over log2 c, 0 (precise) to 1 (nothing known); 0 for a single cluster.

        Compare it between partitions made with the same kind of focal sets only.
        """
        if self.n_clusters == 1 or len(self) == 0:
            return 0.0
        mean = float(self.nonspecificity().mean(dtype=library_of(self.masses).float64)) / np.log2(self.n_clusters)
        return float(np.clip(mean, 0, 1))

    def summary(self) -> PartitionSummary:
        """Clusters, certain, ambiguous and outlying objects, as a table a person reads."""
        from dempster.partition.summary import PartitionSummary

        return PartitionSummary.of(self, to_host(self.best_set), self.nonspecificity_index())

    # ---- showing --------------------------------------------------------------------------------------------------

    def plot(self, X: Any, *, ax: Any = None, **keywords):
        """Draw the partition over the attributes ``X`` (see `dempster.plot.CredalPartitionDisplay`)."""
        from dempster.plot import CredalPartitionDisplay  # a view of this value, imported when looked at

        return CredalPartitionDisplay.from_partition(self, X, ax=ax, **keywords)

    def __repr__(self) -> str:
        text = super().__repr__()
        c = self.n_clusters
        return text.replace(text.splitlines()[0], f"CredalPartition({len(self)} objects, {c} clusters)", 1)

    def _cluster(self, cluster: Any) -> int:
        try:
            rows, _ = self.membership_rows((cluster,))
        except ValueError as error:
            raise InvalidInputError(
                f"cluster must be a name of the frame {self.frame}, got {shown(cluster)}"
            ) from error
        if rows[0].sum() != 1:
            raise InvalidInputError(f"cluster must be one name of the frame {self.frame}, got {shown(cluster)}")
        return int(rows[0].argmax())


def as_credal_partition(partition: Any, name: str = "partition") -> CredalPartition:
    """A credal partition with its masses in memory, or one made from hard labels; ``name`` is that of the argument."""
    if isinstance(partition, CredalPartition):
        return partition.to_numpy()
    if isinstance(partition, MassFunctions):
        return CredalPartition(partition.to_numpy())
    try:
        return CredalPartition.from_hard(to_host(partition))
    except (ValueError, TypeError) as error:
        raise type(error)(f"{name} must be a CredalPartition or one label for each object: {error}") from error


def find_labels(partition: CredalPartition, apply: Apply) -> None:
    """Find `labels` now, in threads: NumPy takes a while for millions of short rows."""
    if isinstance(partition.masses, np.ndarray):
        from dempster.optimize.blocks import row_blocks

        contour = partition.contour
        parts = apply(lambda start, stop: contour[start:stop].argmax(axis=1), row_blocks(len(contour)))
        partition.__dict__["labels"] = frozen(np.concatenate(parts))
