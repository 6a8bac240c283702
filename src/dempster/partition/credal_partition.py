"""Credal partitions, which give a mass function on sets of clusters to each object."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import dempster._validation as validation
from dempster._arrays import (
    Array,
    copy_array,
    divide,
    freeze,
    is_sparse,
    library_of,
    look_up,
    positions_where,
    row_argmax,
    row_max,
    to_host,
)
from dempster._errors import InvalidParameterError
from dempster._native import kernel
from dempster._text import (
    format_cluster,
    format_clusters,
    format_count,
    join_some,
    printable,
)
from dempster._types import Metric, Seed, TableLike
from dempster.belief import FocalSets, MassFunctions, transforms
from dempster.belief.focal_sets import unique_sets
from dempster.optimize.blocks import Apply, row_blocks
from dempster.partition.layers import cut_tree, merge_clusters, select_numbers
from dempster.partition.relational import RelationalPartition

if TYPE_CHECKING:
    import pandas as pd


# choices that the summary shows even if it is not verbose
_ALWAYS_SHOWN = (
    "n_clusters",
    "shape",
)
NOT_SEPARATED = "The clusters are not separated: the objects form a single group."
_MAX_LISTED_CLUSTERS = 20
_MAX_LISTED_OUTLIERS = 8
_MAX_LINE_CHARACTERS = 80
_NO_BREAK_SPACE = "\u00a0"
_ROUNDING = 1e-6
_MAX_SOFT_SET = 2  # maximum size of the sets of `from_soft` other than the frame


_most_plausible = kernel("""most_plausible(
    masses: real[n, f], membership: bool[f, c], labels: int64[n] out)""")


@dataclass(frozen=True)
class Deferred:
    """Value of the metadata that is computed when it is first read."""

    compute: Callable[[], Any]

    @cached_property
    def value(self) -> Any:
        return self.compute()


class FitRecord:
    """Metadata of a partition."""

    _metadata: dict[str, Any]

    @property
    def metadata(self) -> dict[str, Any]:
        """Information about the fit."""
        for name, value in self._metadata.items():
            if isinstance(value, Deferred):
                self._metadata[name] = value.value
        return self._metadata

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_metadata": self.metadata}


class CredalPartition(FitRecord, MassFunctions):
    """Credal (evidential) partition of n objects into c clusters.

    Mass on {k} supports that the object belongs to cluster k. Mass on {k, l} supports that it
    belongs to one of these clusters, but the data do not determine which. Mass on the empty set
    supports that it belongs to no cluster (an outlier).

    Clusterers store the masses of more than 50 clusters as compressed rows, which contain masses
    on the empty set, the nearest clusters and pairs of them. All methods accept them. Only
    `masses`, `combine`, `condition`, `to_dense` and `to_frame` without ``top`` compute an array
    with a column for each set, or raise an error if it does not fit in memory.

    Parameters
    ----------
    masses : array-like of shape (n, f), or MassFunctions
        Nonnegative masses whose rows sum to one.
    focal_sets : FocalSets
        Focal sets of the columns of ``masses``.
    index : sequence of length n, optional
        Names of the objects.
    frame : sequence of length c, optional
        Names of the clusters.
    metadata : mapping, optional
        Information about the fit (method, parameters, objective, convergence, seed), which
        estimators set.

    References
    ----------
    T. Denoeux and M.-H. Masson (2004). EVCLUS: evidential clustering of proximity data. IEEE Trans.
    SMC B 34.

    Examples
    --------
    >>> from dempster import CredalPartition, FocalSets
    >>> certain, ambiguous, outlier = [0, 1, 0, 0], [0, 0.1, 0.1, 0.8], [0.9, 0.1, 0, 0]
    >>> cp = CredalPartition([certain, ambiguous, outlier], FocalSets.full(2))
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
        if metadata is None:
            metadata = {}
        validation.check(
            metadata, "metadata", validation.kind(Mapping, words="values by name")
        )
        self._metadata = dict(metadata)

    def _set(self, masses, focal_sets, index, frame, metadata=None) -> None:
        super()._set(masses, focal_sets, index, frame)
        self._metadata = dict(metadata or {})

    def _copy_with(self, masses: Array, index: Any) -> Self:
        return type(self).unchecked(
            masses, self.focal_sets, index, self.frame, metadata=self._metadata
        )

    # ---- conversion from other partitions --------------------------------------------------------

    @classmethod
    def from_hard(
        cls, labels: Any, *, noise: Any = -1, index: Sequence[Hashable] | None = None
    ) -> Self:
        """Convert labels of any type.

        Parameters
        ----------
        labels : array-like of shape (n,)
            Labels of any type.
        noise : label, default=-1
            Label of objects that belong to no cluster.
        index : sequence of length n, optional
            Names of the objects; by default the index of the labels if they are a pandas Series.

        Returns
        -------
        CredalPartition
        """
        names, codes = encode_labels(labels, "labels", noise)
        if len(names) == 0:
            raise InvalidParameterError(
                "labels", must="contain at least one object that belongs to a cluster"
            )
        c = len(names)
        is_noise = codes < 0
        validation.check_memory(
            8 * (len(codes) + c) * (c + 1),
            f"a partition into {c:,} clusters",
            "labels are names of clusters",
        )
        family = FocalSets.simple(c, empty=bool(is_noise.any()), omega=False)
        masses = np.zeros((len(codes), len(family)))
        masses[np.flatnonzero(~is_noise), family.singleton_index[codes[~is_noise]]] = 1
        if is_noise.any():
            masses[is_noise, family.empty_index] = 1
        if index is None:
            index = validation.row_index(labels)
        return cls(masses, family, index, frame=names)

    @classmethod
    def from_fuzzy(cls, memberships: Any, **keywords) -> Self:
        """Convert fuzzy memberships; one minus the sum of a row becomes mass on the empty set.

        Parameters
        ----------
        memberships : array-like of shape (n, c)
            Nonnegative memberships with row sums of at most one.
        **keywords
            ``index`` and ``frame``, names of the objects and of the clusters; by default those of a
            table.

        Returns
        -------
        CredalPartition
        """
        u = _read_memberships(memberships)
        missing = 1 - u.sum(axis=1)
        masses = np.column_stack([np.maximum(missing, 0), u])
        family = FocalSets.simple(u.shape[1], omega=False)
        return cls(masses, family, **(validation.table_names(memberships) | keywords))

    @classmethod
    def from_soft(cls, memberships: Any, **keywords) -> Self:
        r"""Convert the memberships of another method.

        Similar memberships give mass to sets of clusters.

        `from_fuzzy` uses memberships as masses. An object with the memberships 0.5 and 0.5 then has
        half of its mass on each of the two clusters and is not ambiguous. In contrast, `from_soft`
        gives mass to the set of both clusters. With the memberships of an object in decreasing
        order, u_1 >= u_2 >= ..., the set of the first k clusters gets the sum of the memberships
        times

        .. math::

            \frac{u_k - u_{k+1}}{u_1},

        and the difference between one and this sum is mass on the empty set. The plausibility of a
        cluster is proportional to its membership, and largest for the clusters with the largest
        membership. The mass of sets of more than two clusters is moved to the frame. With two
        clusters, an object is ambiguous if u_2 > u_1 / 2. `from_pignistic` is more cautious.

        Parameters
        ----------
        memberships : array-like or table of shape (n, c)
            Nonnegative memberships with row sums of at most one, such as the posterior
            probabilities of a Gaussian mixture, or HDBSCAN's ``all_points_membership_vectors``. A
            pandas table provides the names of objects and clusters.
        **keywords
            ``index`` and ``frame``, names of the objects and of the clusters; by default those of a
            table.

        Returns
        -------
        CredalPartition

        References
        ----------
        G. Shafer (1976). A Mathematical Theory of Evidence. Princeton University Press, chapter 11.

        Examples
        --------
        >>> from dempster import CredalPartition
        >>> cp = CredalPartition.from_soft([[0.9, 0.1, 0.0], [0.0, 0.45, 0.55], [0.1, 0.0, 0.0]])
        >>> cp.labels, cp.ambiguous, cp.outliers
        (array([0, 2, 0]), array([1]), array([2]))
        """
        masses, family = _masses_from_soft(_read_memberships(memberships))
        return cls(masses, family, **(validation.table_names(memberships) | keywords))

    @classmethod
    def from_rough(cls, upper: Any, **keywords) -> Self:
        """Convert a rough partition, given by the upper approximations of the clusters.

        Parameters
        ----------
        upper : Boolean array-like of shape (n, c)
            Upper approximations of the clusters. An object in no upper approximation is an outlier.
        **keywords
            ``index`` and ``frame``, names of the objects and of the clusters; by default those of a
            table.

        Returns
        -------
        CredalPartition
        """
        up = validation.as_boolean(upper, "upper")
        if up.ndim != 2 or up.size == 0:
            raise InvalidParameterError(
                "upper", must="be a nonempty Boolean table (n, c)"
            )
        rows, which = unique_sets(up)
        masses, family = transforms.sort_sets(np.eye(len(rows))[which], rows)
        return cls(masses, family, **(validation.table_names(upper) | keywords))

    # ---- names of the clusters -------------------------------------------------------------------

    def name_clusters(
        self,
        names: Mapping[Any, Hashable] | Sequence[Hashable],
        *,
        descriptions: Mapping[Any, str] | None = None,
    ) -> Self:
        """Return the same partition with other names of the clusters.

        Summaries, plots, reports and files show the names.

        Parameters
        ----------
        names : mapping or sequence of length c
            New name for each name of the `frame` that changes, or the names of all clusters.
        descriptions : mapping, optional
            Text for some clusters, given by their new names, which reports show. It is stored in
            ``metadata["descriptions"]``.

        Returns
        -------
        CredalPartition

        Examples
        --------
        >>> from dempster import CredalPartition
        >>> cp = CredalPartition.from_hard([0, 0, 1, 2]).name_clusters({1: "oak", 2: "elm"})
        >>> cp.frame, cp.lower("oak")
        ((0, 'oak', 'elm'), array([2]))
        """
        if isinstance(names, Mapping):
            _check_names(names, "names", self.frame)
            names = [names.get(name, name) for name in self.frame]
        frame = tuple(validation.as_list(names, "names", "names of the clusters"))
        if len(frame) != self.n_clusters or len(set(map(str, frame))) < len(frame):
            must = f"give {self.n_clusters} different names, got {list(frame)}"
            raise InvalidParameterError("names", must=must)
        texts = self._metadata.get("descriptions", {})
        kept = {
            str(new): texts[str(old)]
            for old, new in zip(self.frame, frame, strict=True)
            if str(old) in texts
        }
        if descriptions is not None:
            is_mapping = validation.kind(Mapping, words="texts by names of clusters")
            validation.check(descriptions, "descriptions", is_mapping)
            _check_names(descriptions, "descriptions", frame)
            kept |= {str(name): str(text) for name, text in descriptions.items()}
        metadata = dict(self._metadata)
        if kept:
            metadata["descriptions"] = kept
        return type(self).unchecked(
            self._masses, self.focal_sets, self.index, frame, metadata=metadata
        )

    # ---- hard and soft summaries -----------------------------------------------------------------

    @cached_property
    def labels(self) -> Array:
        """Index of the cluster with the largest plausibility for each object.

        The lowest index in case of ties.
        """
        masses = self._masses
        if not isinstance(masses, np.ndarray):
            return freeze(row_argmax(self._stored_contour()))
        labels = np.zeros(len(masses), np.int64)
        rows = np.ascontiguousarray(masses)
        _most_plausible(rows, self.focal_sets.membership, labels)
        return freeze(labels)

    @cached_property
    def labels_with_outliers(self) -> Array:
        """`labels`, but -1 for outliers."""
        labels = copy_array(self.labels)
        labels[self.outliers] = -1
        return freeze(labels)

    def _stored_contour(self) -> Array:
        """Return the plausibilities of the clusters, as compressed rows if the masses are."""
        masses = self._masses
        if not is_sparse(masses):
            return self.contour
        members = self.focal_sets.membership.astype(masses.dtype)
        return masses @ type(masses)(members)

    # ---- rough summary ---------------------------------------------------------------------------

    @cached_property
    def best_set(self) -> Array:
        """Index in `focal_sets` of the set with the largest mass.

        In case of ties, of the smallest set.
        """
        order = np.argsort(self.focal_sets.cardinality, kind="stable")
        return freeze(look_up(order, row_argmax(self._masses[:, order])))

    @cached_property
    def best_mass(self) -> Array:
        """Mass of `best_set`, the largest mass of each object."""
        return freeze(row_max(self._masses))

    def assignment(
        self, rule: str = "max_mass", *, keep_outliers: bool = True
    ) -> Array:
        """Return the clusters that each object is assigned to.

        Parameters
        ----------
        rule : {"max_mass", "interval_dominance"}, default="max_mass"
            "max_mass" assigns an object to the set with the largest mass, which is empty for
            outliers. "interval_dominance" assigns it to the clusters with a positive plausibility
            that is at least the largest belief in a cluster.
        keep_outliers : bool, default=True
            Whether ``rule="interval_dominance"`` assigns outliers to clusters.

        Returns
        -------
        Boolean array of shape (n, c)
        """
        validation.check_choice(rule, "rule", ("max_mass", "interval_dominance"))
        validation.check_flags(keep_outliers=keep_outliers)
        if rule == "max_mass":
            return look_up(self.focal_sets.membership, self.best_set)
        assigned = self.contour >= row_max(self.singleton_belief)[:, None]
        # Clusters with plausibility 0 are removed, unless all plausibilities are 0.
        assigned &= (self.contour > 0) | ~(self.contour > 0).any(axis=1)[:, None]
        if not keep_outliers:
            assigned[self.outliers] = False
        return assigned

    def lower(self, cluster: int, rule: str = "max_mass") -> Array:
        """Return the indices of the objects in the lower approximation (in this cluster only).

        Parameters
        ----------
        cluster : name or int
            Name of the `frame` (0, ..., c-1 by default), or an index if no name is a number.
        rule : {"max_mass", "interval_dominance"}, default="max_mass"
            Rule of assignment; see `assignment`.

        Returns
        -------
        integer array
        """
        assigned = self.assignment(rule)
        return positions_where(
            assigned[:, self._cluster(cluster)] & (assigned.sum(axis=1) == 1)
        )

    def upper(self, cluster: int, rule: str = "max_mass") -> Array:
        """Return the indices of the objects in the upper approximation (possibly in this cluster).

        Parameters
        ----------
        cluster : name or int
            Name of the `frame` (0, ..., c-1 by default), or an index if no name is a number.
        rule : {"max_mass", "interval_dominance"}, default="max_mass"
            Rule of assignment; see `assignment`.

        Returns
        -------
        integer array
        """
        return positions_where(self.assignment(rule)[:, self._cluster(cluster)])

    @cached_property
    def outliers(self) -> Array:
        """Indices of the objects whose largest mass is on the empty set."""
        return freeze(
            positions_where(look_up(self.focal_sets.cardinality, self.best_set) == 0)
        )

    @cached_property
    def ambiguous(self) -> Array:
        """Indices of the objects whose largest mass is on a set of two or more clusters."""
        return freeze(
            positions_where(look_up(self.focal_sets.cardinality, self.best_set) > 1)
        )

    # ---- layers ----------------------------------------------------------------------------------

    @cached_property
    def merge_tree(self) -> np.ndarray:
        """Average linkage of the clusters, shape (c - 1, 4), in the format of SciPy.

        The dissimilarity of two clusters is one minus the cosine between the square roots of the
        plausibilities that the objects have for them (the Bhattacharyya coefficient), so clusters
        merge early if many objects are between them.
        """
        plausible = self.to_numpy()._stored_contour() ** 0.5
        overlaps = to_host(plausible.T @ plausible)
        return freeze(merge_clusters(overlaps.astype(float)))

    def layers(self, n_clusters: Sequence[int] | None = None) -> list[CredalPartition]:
        """Return coarser partitions of the same objects, in which clusters are merged.

        The clusters with the most objects between them are merged first (`merge_tree`). Mass on a
        pair of clusters that are merged becomes mass on the merged cluster, so an object between
        two fine clusters is certain where they merge. Each layer is a coarsening of all finer ones
        (`coarsen`).

        Parameters
        ----------
        n_clusters : sequence of int, optional
            Number of clusters of each layer, from 1 to the number of clusters of this partition.
            By default, up to three numbers after which the similarity of the clusters that merge
            decreases most, each at most half of the number before.

        Returns
        -------
        list of CredalPartition
            ``metadata["merged"]`` of a layer lists the names of the clusters that each of its
            clusters consists of.

        Examples
        --------
        >>> from dempster import CredalPartition, FocalSets
        >>> sets = FocalSets.with_pairs(3, [(0, 1)], omega=False)
        >>> masses = [[0, 0.1, 0, 0, 0.9], [0, 0, 0.9, 0, 0.1], [0, 0, 0, 1, 0]]
        >>> [layer] = CredalPartition(masses, sets).layers([2])
        >>> layer.metadata["merged"], layer.ambiguous, layer.labels
        ([[0, 1], [2]], array([], dtype=int64), array([0, 0, 1]))
        """
        if n_clusters is None:
            n_clusters = select_numbers(self.merge_tree)
        numbers = validation.as_list(n_clusters, "n_clusters", "numbers of clusters")
        rule = validation.integer(1, self.n_clusters)
        for number in numbers:
            validation.check(number, "n_clusters", rule)
        return [self._merge(int(number)) for number in numbers]

    def _merge(self, n_clusters: int) -> CredalPartition:
        group = cut_tree(self.merge_tree, n_clusters)
        merged = [
            [name for name, k in zip(self.frame, group, strict=True) if k == number]
            for number in range(n_clusters)
        ]
        coarse = self._coarsen(group, tuple(range(n_clusters)))
        return CredalPartition.unchecked(
            coarse.stored_masses,
            coarse.focal_sets,
            self.index,
            coarse.frame,
            metadata={**self.metadata, "merged": merged},
        )

    # ---- pairs and quality -----------------------------------------------------------------------

    def relational(self, pairs: Any = None) -> RelationalPartition:
        """Return the masses of "same cluster" and "different clusters" for pairs of objects.

        Parameters
        ----------
        pairs : array-like of shape (p, 2), optional
            Pairs of object indices; all pairs by default.

        Returns
        -------
        RelationalPartition
        """
        return RelationalPartition(self.to_numpy(), pairs)

    def nonspecificity_index(self) -> float:
        """Return N*, the mean nonspecificity divided by log2 c.

        It ranges from 0 (precise, or one cluster) to 1 (vacuous). Compare it only between
        partitions with the same type of focal sets, such as all pairs of clusters.

        Returns
        -------
        float
        """
        if self.n_clusters == 1 or len(self) == 0:
            return 0.0
        mean = float(self.nonspecificity().mean(dtype=library_of(self._masses).float64))
        return float(np.clip(mean / np.log2(self.n_clusters), 0, 1))

    def summary(self, *, verbose: bool = False) -> PartitionSummary:
        """Return the numbers of certain, possible and ambiguous objects, and of outliers.

        Parameters
        ----------
        verbose : bool, default=False
            Whether the printed summary lists all clusters, instead of the 20 largest, and the
            values of all parameters that were "auto", with the reasons, instead of the number and
            shape of the clusters.

        Returns
        -------
        summary : PartitionSummary
            Its text, which ``print`` shows, is at most 80 characters wide unless a name is longer.
        """
        typical = []
        if len(self):
            typical = self._typical_objects()
        outliers = self.outliers.tolist()
        if self.index is not None:
            typical = [self.index[i] for i in typical]
            outliers = [self.index[i] for i in outliers]
        return summarize_counts(
            self.focal_sets,
            np.bincount(to_host(self.best_set), minlength=len(self.focal_sets)),
            names=self.frame,
            typical=typical,
            outliers=outliers,
            nonspecificity=self.nonspecificity_index(),
            metadata=self.metadata,
            verbose=verbose,
        )

    def _typical_objects(self) -> list[int]:
        """Return the object with the largest mass on each single cluster."""
        if not is_sparse(self._masses):
            return self.singleton_belief.argmax(axis=0).tolist()
        columns = self._masses.T.tocsr()
        return row_argmax(columns[self.focal_sets.singleton_index]).tolist()

    # ---- review ----------------------------------------------------------------------------------

    def review(self, X: Any = None, n: int = 50) -> pd.DataFrame:
        """Return the objects with the largest doubt, as a table for a person who checks them.

        Write it to a file for a spreadsheet, and fill in the last two columns. The studio
        (`dempster.apps.studio.serve`) shows the same objects one at a time.

        Parameters
        ----------
        X : array-like or table of n rows, optional
            Attributes or other columns of the objects, which the table also contains.
        n : int, default=50
            Number of objects.

        Returns
        -------
        pandas.DataFrame
            A row for each object, in decreasing order of doubt, with its name as index (or its
            position, if the objects have no names). The columns are the most plausible ``cluster``,
            the ``possible clusters`` (such as "0 or 2", or "outlier"), the ``doubt`` (see
            `dempster.explain.doubt_scores`), the columns of X, and the empty columns ``decision``
            and ``note``.

        Examples
        --------
        >>> import pandas as pd
        >>> from dempster import CredalPartition, FocalSets
        >>> people = pd.DataFrame({"age": [31, 54, 7]}, index=["ann", "bob", "eve"])
        >>> masses = [[0, 1, 0, 0], [0, 0.2, 0, 0.8], [0.9, 0.1, 0, 0]]
        >>> cp = CredalPartition(masses, FocalSets.full(2), people.index)
        >>> print(cp.review(people, n=2).iloc[:, :4])
            cluster possible clusters  doubt  age
        eve       0           outlier    1.9    7
        bob       0            0 or 1    0.8   54
        """
        from dempster.explain.review import list_doubtful  # a higher layer

        return list_doubtful(self, X, n)

    # ---- doubt -----------------------------------------------------------------------------------

    def with_doubt(
        self,
        X: TableLike,
        *,
        metric: Metric = "euclidean",
        random_state: Seed = None,
        n_jobs: int | None = -1,
    ) -> CredalPartition:
        """Return the same clusters with the masses of `dempster.doubt`.

        Methods differ in what their masses mean. The masses of `dempster.doubt` mean the same for
        the clusters of any method (``docs/doubt.md``): an object is ambiguous if clusters overlap
        where it lies, in few and in many dimensions. They are estimated from X and the labels
        alone. At first, an outlier of this partition has no cluster; it can become certain,
        ambiguous, or again an outlier.

        Parameters
        ----------
        X : array-like of shape (n, p), table, (n, n) dissimilarities, or graph
            Objects, with the same scale of the columns with which the clusters were found.
        metric : {"euclidean", "gower", "precomputed"}, str or callable, default="euclidean"
            "gower" accepts numbers and categories; "precomputed": X contains dissimilarities.
        random_state : int, RandomState, Generator or None
            Seed for the folds of the objects, and for drawing 4,000 objects if there are more.
        n_jobs : int or None, default=-1
            Number of threads; -1 uses all processors. None uses one unless
            `joblib.parallel_config` sets another number.

        Returns
        -------
        CredalPartition
            A `dempster.labels.LabeledPartition`, which also gives masses to new objects.

        Examples
        --------
        ECM calls hardly any object ambiguous if there are many attributes.

        >>> import numpy as np
        >>> from dempster.cluster import ECM
        >>> X = np.random.default_rng(0).normal(size=(600, 50))
        >>> X[:300, 0] += 3
        >>> partition = ECM(2, random_state=0).fit(X).credal_partition_
        >>> len(partition.ambiguous), len(partition.with_doubt(X, random_state=0).ambiguous)
        (0, 106)
        """
        from dempster.labels.labeled_partition import doubt_clusters  # a higher layer

        return doubt_clusters(self, X, metric, random_state, n_jobs)

    # ---- display ---------------------------------------------------------------------------------

    def plot(self, X: Any, *, ax: Any = None, **keywords):
        """Plot the partition over the attributes (see `dempster.plot.CredalPartitionDisplay`).

        Parameters
        ----------
        X : array-like or table of shape (n, p), or (n,), or graph
            Attributes of the objects. One attribute is drawn as a strip, two attributes are the
            axes, and more attributes are reduced to two principal components. A graph of networkx
            or igraph, or a sparse adjacency matrix, is drawn as a network.
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        **keywords
            Further options: ``rule``, ``cluster_names`` and ``cluster_centers`` of
            `CredalPartitionDisplay.from_partition`, and ``lower``, ``upper``, ``legend``,
            ``colors``, ``marker_size`` and ``title`` of `CredalPartitionDisplay.plot`.

        Returns
        -------
        CredalPartitionDisplay
        """
        # This module needs matplotlib.
        from dempster.plot.credal_partition import CredalPartitionDisplay

        return CredalPartitionDisplay.from_partition(self, X, ax=ax, **keywords)

    def __repr__(self) -> str:
        rows = super().__repr__().splitlines()[1:]
        heading = f"CredalPartition({len(self)} objects, {self.n_clusters} clusters)"
        return "\n".join([heading, *rows])

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def _cluster(self, cluster: Any) -> int:
        rows, _ = self.membership_rows((cluster,), "cluster")
        return int(rows[0].argmax())


def _check_names(
    names: Iterable[Hashable], argument: str, frame: Sequence[Hashable]
) -> None:
    """Raise an error if one of the names is not the name of a cluster."""
    unknown = [name for name in names if name not in frame]
    if unknown:
        known = join_some(list(map(repr, frame)), _MAX_LISTED_CLUSTERS)
        raise InvalidParameterError(
            argument, f"names of clusters ({known})", unknown[0]
        )


def as_credal_partition(partition: Any, name: str = "partition") -> CredalPartition:
    """Convert a partition or hard labels to a `CredalPartition`.

    ``name`` is the argument's name for errors.
    """
    if isinstance(partition, CredalPartition):
        return partition.to_numpy()
    if isinstance(partition, MassFunctions):
        return CredalPartition(partition.to_numpy())
    try:
        return CredalPartition.from_hard(to_host(partition))
    except (ValueError, TypeError) as error:
        message = (
            f"{name} must be a CredalPartition or one label for each object: {error}"
        )
        raise InvalidParameterError(name, message=message) from error


def as_credal_partitions(partitions: Any) -> list[CredalPartition]:
    """Convert the argument ``partitions``, a sequence of partitions or hard labels."""
    return [
        as_credal_partition(p, "partitions")
        for p in validation.as_list(partitions, "partitions", "partitions")
    ]


def match_objects(
    partition: CredalPartition, reference: CredalPartition
) -> CredalPartition:
    """Sort the rows of a partition like those of a reference, if both have names of objects."""
    order = validation.match_names(partition.index, reference.index)
    if order is None:
        return partition
    return partition[order]


def compute_labels(partition: CredalPartition, apply: Apply) -> None:
    """Set the cached `labels`, computed in threads."""
    masses = partition.stored_masses
    if isinstance(masses, np.ndarray):
        labels = np.zeros(len(masses), np.int64)
        membership = partition.focal_sets.membership

        def write(start: int, stop: int) -> None:
            _most_plausible(masses[start:stop], membership, labels[start:stop])

        apply(write, row_blocks(len(masses)))
        partition.labels = freeze(labels)


# ---- masses from other partitions ----------------------------------------------------------------


def encode_labels(labels: Any, name: str, noise: Any) -> tuple[list, np.ndarray]:
    """Return the distinct labels in increasing order, and the index of each label among them.

    The index is -1 for the label ``noise``, also if it is written as text.
    """
    values = validation.as_labels(labels, name)
    if values.dtype.kind == "U" and len({*map(type, labels)}) > 1:
        values = np.asarray(labels, dtype=object)  # with numbers, not their text
    validation.check(noise, "noise", validation.hashable)
    is_name = np.ones(len(values), bool)
    # True is not 1, and False is not 0.
    if noise is not None and isinstance(noise, bool) == (values.dtype.kind == "b"):
        is_name = ~((values == noise) | (values == str(noise)))
    codes = np.full(len(values), -1)
    with validation.validating_labels(labels, name):
        names, codes[is_name] = np.unique(values[is_name], return_inverse=True)
    return names.tolist(), codes


def _read_memberships(memberships: Any) -> np.ndarray:
    u = validation.as_numbers(memberships, "memberships", -1e-10)
    if u.ndim != 2 or u.size == 0:
        raise InvalidParameterError(
            "memberships", must=f"be a nonempty table (n, c), got shape {u.shape}"
        )
    total = u.sum(axis=1)
    if total.max() > 1 + _ROUNDING:
        raise InvalidParameterError(
            "memberships",
            must=f"sum to at most one in every row, but row {total.argmax()} sums to "
            f"{total.max():.6g} (use from_contour for possibilities)",
        )
    return u


def _masses_from_soft(u: np.ndarray) -> tuple[np.ndarray, FocalSets]:
    c = u.shape[1]
    total = u.sum(axis=1)
    certain = np.minimum(total, 1)
    certain[np.abs(total - 1) <= _ROUNDING] = 1
    share = divide(np.maximum(u, 0), total[:, None], 0)
    top = share.max(axis=1, keepdims=True)
    contour = divide(share, top, 1)
    order, nested = transforms.consonant_from_contour(contour)
    # Moving the mass of larger sets to the frame decreases no plausibility.
    nested[:, c] += nested[:, _MAX_SOFT_SET + 1 : c].sum(axis=1)
    nested[:, _MAX_SOFT_SET + 1 : c] = 0
    nested *= certain[:, None]
    nested[:, 0] += 1 - certain
    return transforms.nested_masses(order, nested)


# ---- summary -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PartitionSummary:
    """Numbers of certain, ambiguous and outlying objects; ``str()`` returns a table.

    Attributes
    ----------
    n_objects : int
        Number of objects.
    names : list of str
        Names of the clusters.
    certain, possible : (c,) arrays
        Numbers of objects in the lower and in the upper approximation of each cluster.
    typical : list
        Name (or index) of the object with the largest mass on each single cluster; None for a
        cluster without certain objects.
    ambiguous : list of tuple
        Sets of clusters with the number of their ambiguous objects, the most frequent first.
    outliers : list
        Name (or index) of each outlier; only the first 1,000 if X was given in blocks.
    nonspecificity : float
        Mean nonspecificity divided by log2 c, from 0 to 1.
    choices : dict of str to str
        Values of the parameters that were "auto", with the reason.
    n_outliers : int
        Number of outliers.
    is_separated : bool
        False if the objects were found to form a single group, so that the clusters divide it.
    verbose : bool
        Whether the text contains all clusters, instead of the 20 largest, and all `choices`,
        instead of the number and shape of the clusters.
    """

    n_objects: int
    names: list[str]
    certain: np.ndarray
    possible: np.ndarray
    typical: list[Any]
    ambiguous: list[tuple[tuple[int, ...], int]]
    outliers: list[Any]
    nonspecificity: float
    choices: Mapping[str, str] = field(default_factory=dict)
    n_outliers: int = 0
    is_separated: bool = True
    verbose: bool = False

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with the certain, possible and typical objects of each cluster.

        Returns
        -------
        pandas.DataFrame
        """
        import pandas as pd

        table = {
            "certain": self.certain,
            "possible": self.possible,
            "typical": self.typical,
        }
        return pd.DataFrame(table, index=pd.Index(self.names, name="cluster"))

    def __str__(self) -> str:
        shown = self._shown_clusters()
        names = list(map(format_cluster, self.names))
        width = max(len("ambiguous"), *(len(names[k]) for k in shown))
        lines = [f"{'':{width}}  certain  possible  typical object"]
        for k in shown:
            typical = "-"
            if self.typical[k] is not None:
                typical = printable(self.typical[k])
            lines.append(
                f"{names[k]:{width}}  {self.certain[k]:7d}  {self.possible[k]:8d}  {typical}"
            )
        if len(shown) < len(self.names):
            lines.append(
                f"... and {format_count(len(self.names) - len(shown), 'smaller cluster')}"
            )
        for name, number, text in self._other_objects():
            lines += _wrap(f"{name:{width}}  {number:7d}  ", text)
        lines.append(
            f"nonspecificity {self.nonspecificity:.3f} (0 certain, 1 nothing known)"
        )
        if not self.is_separated:
            lines.append(NOT_SEPARATED)
        for name, why in self.choices.items():
            if self.verbose or name in _ALWAYS_SHOWN:
                lines += _wrap("chosen: ", f"{name} = {printable(why)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def _shown_clusters(self) -> list[int]:
        most = _MAX_LISTED_CLUSTERS
        if self.verbose:
            most = len(self.names)
        largest = np.argsort(-self.possible, kind="stable")[:most]
        return sorted(largest.tolist())

    def _other_objects(self) -> list[tuple[str, int, str]]:
        """Return the name, number and description of the ambiguous objects and of the outliers."""
        parts = []
        for clusters, number in self.ambiguous[:6]:
            if 2 < len(clusters) == len(self.names):
                parts.append(f"{number} between all {len(clusters)} clusters")
            else:
                names = format_clusters([self.names[k] for k in clusters])
                parts.append(f"{number} between {names}")
        if len(self.ambiguous) > 6:
            parts.append(f"{sum(n for _, n in self.ambiguous[6:])} between other sets")
        outliers = [
            _unbreakable(printable(i)) for i in self.outliers[:_MAX_LISTED_OUTLIERS]
        ]
        named = join_some(outliers, _MAX_LISTED_OUTLIERS, total=self.n_outliers)
        n_ambiguous = sum(number for _, number in self.ambiguous)
        return [
            ("ambiguous", n_ambiguous, "; ".join(map(_unbreakable, parts))),
            ("outliers", self.n_outliers, named),
        ]

    __repr__ = __str__


def summarize_counts(
    family: FocalSets,
    counts: np.ndarray,
    *,
    names: Sequence[Any],
    typical: Sequence[Any],
    metadata: Mapping[str, Any],
    **fields: Any,
) -> PartitionSummary:
    """Create a summary from the number of objects with their largest mass on each focal set.

    ``typical`` contains an object for each cluster, and ``fields`` the remaining fields.
    """
    certain = np.zeros(family.n_clusters, int)
    possible = np.zeros(family.n_clusters, int)
    ambiguous = []
    for clusters, number in zip(family, counts.tolist(), strict=True):
        possible[list(clusters)] += number
        if len(clusters) == 1:
            certain[clusters[0]] = number
        elif clusters and number:
            ambiguous.append((clusters, number))
    return PartitionSummary(
        n_objects=int(counts.sum()),
        names=[printable(name) for name in names],
        certain=certain,
        possible=possible,
        typical=[typical[k] if certain[k] else None for k in range(len(certain))],
        ambiguous=sorted(ambiguous, key=lambda item: (-item[1], item[0])),
        n_outliers=int(counts[family.cardinality == 0].sum()),
        choices=metadata.get("choices", {}),
        is_separated=metadata.get("separated") is not False,
        **fields,
    )


def _wrap(start: str, text: str) -> list[str]:
    """Return the lines of ``start`` and ``text``, at most 80 characters wide if words allow it."""
    lines = textwrap.wrap(
        text,
        _MAX_LINE_CHARACTERS,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_NO_BREAK_SPACE, " ") for line in lines] or [start.rstrip()]


def _unbreakable(text: str) -> str:
    return text.replace(" ", _NO_BREAK_SPACE)
