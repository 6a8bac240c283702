"""Mass functions on one frame, with the operations of the Dempster-Shafer calculus."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dempster._arrays import (
    Array,
    cast_like,
    divide,
    freeze,
    is_sparse,
    is_tensor,
    largest_in_rows,
    library_of,
    move_columns,
    multiply_rows,
    precision_of,
    row_products,
    select_columns,
    set_frozen_state,
    to_host,
    zeros,
)
from dempster._errors import InvalidParameterError
from dempster._text import format_count, printable
from dempster._validation import (
    as_list,
    check,
    check_choice,
    check_flags,
    check_memory,
    choice,
    column_names,
    integer,
    is_integer,
    match_names,
    real,
    reorder_by_names,
    reorder_like,
    row_positions,
    table_names,
)
from dempster.belief import (
    combination,
    decisions,
    predictive,
    refinement,
    transforms,
)
from dempster.belief._arguments import (
    membership_rows,
    parse_set,
    reorder_columns,
    rounding_tolerance,
    set_rows,
    validate_frame,
    validate_index,
    validate_masses,
    validate_probabilities,
)
from dempster.belief.combination import (
    NORMALIZATIONS,
    combine_masses,
    remove_empty,
    unify_tensors,
)
from dempster.belief.focal_sets import FocalSets, is_subset, validate_family

if TYPE_CHECKING:
    import pandas as pd

_MAX_TEXT_ROWS = 5
_MAX_TEXT_SETS = 6
_MAX_TEXT_ANSWERS = 8


class MassFunctions:
    """Array of mass functions on the same frame, with one mass function in each row.

    A mass function distributes a total belief of 1 over *sets* of possible answers. Mass on a
    single answer supports this answer, mass on a set of several answers expresses ignorance about
    which of them is right, and mass on the empty set means that no answer is right.

    Parameters
    ----------
    masses : array-like of shape (n, f)
        Nonnegative masses whose rows sum to one. Rounding errors (masses above -1e-10, sums within
        1e-6 of one) are corrected, larger errors raise an exception. Masses of type float32 keep
        this type. The columns of a table may have the names of the sets in any order. If the masses
        are a torch tensor, all results are tensors on its device, with gradients. A SciPy sparse
        array stays sparse, for very many sets.
    focal_sets : FocalSets
        Focal sets of the columns of ``masses``.
    index : sequence of length n, optional
        Names of the rows; by default the row names of ``masses`` if it is a table.
    frame : sequence of length c, optional
        Names of the answers (clusters, classes); 0..c-1 by default.

    References
    ----------
    G. Shafer (1976). A Mathematical Theory of Evidence. Princeton University Press.

    Examples
    --------
    >>> from dempster import MassFunctions
    >>> m1 = MassFunctions.from_dict({("a",): 0.6, ("a", "b"): 0.4}, frame="abc")
    >>> m2 = MassFunctions.from_dict({("b", "c"): 0.5, ("a", "b", "c"): 0.5}, frame="abc")
    >>> m1
    MassFunctions(1 mass function on {a,b,c})
    {a}: 0.6  {a,b}: 0.4
    >>> m1.conflict(m2)
    array([0.3])
    >>> m1.combine(m2, rule="dempster").contour.round(3)
    array([[0.714, 0.571, 0.   ]])
    >>> m1 & m2  # without normalization
    MassFunctions(1 mass function on {a,b,c})
    ∅: 0.3  {a}: 0.3  {b}: 0.2  {a,b}: 0.2
    """

    def __init__(
        self,
        masses: Any,
        focal_sets: FocalSets | None = None,
        index: Sequence[Hashable] | None = None,
        *,
        frame: Sequence[Hashable] | None = None,
    ):
        if isinstance(masses, MassFunctions):
            if focal_sets is None:
                focal_sets = masses.focal_sets
            if index is None:
                index = masses.index
            if frame is None:
                frame = masses.frame
            masses = masses._masses
        focal_sets = validate_family(focal_sets, "focal_sets")
        if frame is None:
            frame = range(focal_sets.n_clusters)
        names = validate_frame(frame, focal_sets.n_clusters)
        if index is None:
            index = table_names(masses)["index"]
        masses = reorder_columns(masses, focal_sets, names)
        self._set(validate_masses(masses, len(focal_sets)), focal_sets, index, names)

    def _set(self, masses, focal_sets, index, frame) -> None:
        c = focal_sets.n_clusters
        if index is not None:
            index = validate_index(index, masses.shape[0])
        self._masses = freeze(masses)
        self.focal_sets = focal_sets
        self.index = index
        self.frame = tuple(range(c)) if frame is None else validate_frame(frame, c)

    @classmethod
    def unchecked(
        cls, masses: Array, focal_sets: FocalSets, index=None, frame=None, **more
    ) -> Self:
        """Create mass functions from valid masses without validation or copy.

        Parameters
        ----------
        masses : array of shape (n, f)
            Valid masses. The array must not change afterwards.
        focal_sets : FocalSets
            Family of the f focal sets.
        index : sequence of length n, optional
            Names of the rows.
        frame : sequence of length c, optional
            Names of the answers; 0, ..., c-1 by default.
        **more
            Further attributes of a subclass, such as ``metadata`` of a `CredalPartition`.

        Returns
        -------
        MassFunctions
            A `CredalPartition` if the method is called on that class.
        """
        self = cls.__new__(cls)
        self._set(masses, focal_sets, index, frame, **more)
        return self

    __setstate__ = set_frozen_state

    # ---- constructors ----------------------------------------------------------------------------

    @classmethod
    def from_dict(
        cls,
        masses: Mapping[Any, float] | Sequence[Mapping[Any, float]],
        frame: Iterable[Hashable],
        index: Sequence[Hashable] | None = None,
    ) -> Self:
        """Return mass functions from dictionaries ``{set of names: mass}``.

        Parameters
        ----------
        masses : mapping {set: mass}, or sequence of mappings
            Masses of one row, or of each row. A set is a tuple or frozenset of names of the frame,
            a single name, or ``()`` for the empty set.
        frame : sequence of length c
            Names of the answers.
        index : sequence of length n, optional
            Names of the rows.

        Returns
        -------
        MassFunctions
            A `CredalPartition` if the method is called on that class.
        """
        names = validate_frame(frame)
        if isinstance(masses, Mapping):
            rows = [masses]
        else:
            rows = as_list(masses, "masses", "dictionaries {set: mass}")
        if not rows or not all(isinstance(row, Mapping) for row in rows):
            raise InvalidParameterError(
                "masses",
                must="contain at least one dictionary {set: mass} and nothing else",
                value=masses,
            )
        sets = [
            {parse_set(key, names, "masses"): value for key, value in row.items()}
            for row in rows
        ]
        for parsed, row in zip(sets, rows, strict=True):
            if len(parsed) < len(row):
                raise InvalidParameterError(
                    "masses", must="contain each set only once", value=list(row)
                )
        used = sorted({s for row in sets for s in row}, key=lambda s: (len(s), s))
        family = FocalSets.from_sets(len(names), used)
        return cls(
            [[row.get(s, 0.0) for s in used] for row in sets],
            family,
            index,
            frame=names,
        )

    @classmethod
    def from_source(
        cls,
        probabilities: Any,
        images: Mapping[Hashable, Any],
        frame: Iterable[Hashable],
        index: Sequence[Hashable] | None = None,
    ) -> Self:
        """Return mass functions from a multivalued mapping of interpretations (Dempster, 1967).

        If an interpretation of the evidence is right, the answer is in the image of this
        interpretation, and nothing more is known. The mass of a set is the probability of the
        interpretations whose image is this set.

        Parameters
        ----------
        probabilities : mapping {interpretation: probability}, or array-like of shape (n, s)
            Probabilities of the s interpretations, which sum to one in each row. The columns of an
            array are in the order of ``images``; the columns of a table have the names of the
            interpretations, in any order.
        images : mapping {interpretation: set}
            Image of each interpretation. A set is a tuple or frozenset of names of the frame, a
            single name, or ``()`` for the empty set.
        frame : sequence of length c
            Names of the answers.
        index : sequence of length n, optional
            Names of the rows; by default the row names of a table.

        Returns
        -------
        MassFunctions
            A `CredalPartition` if the method is called on that class.

        References
        ----------
        A. P. Dempster (1967). Upper and lower probabilities induced by a multivalued mapping.
        Annals of Mathematical Statistics 38.

        Examples
        --------
        A sensor reports a tree or an obstacle. It is broken with probability 0.1, and its report is
        then meaningless.

        >>> from dempster import MassFunctions
        >>> frame = ["grass", "road", "tree", "obstacle", "sky"]
        >>> images = {"working": ("tree", "obstacle"), "broken": tuple(frame)}
        >>> MassFunctions.from_source({"working": 0.9, "broken": 0.1}, images, frame)
        MassFunctions(1 mass function on {grass,road,tree,obstacle,sky})
        {tree,obstacle}: 0.9  Ω: 0.1
        """
        names = validate_frame(frame)
        if not isinstance(images, Mapping) or not images:
            raise InvalidParameterError(
                "images", "a mapping of interpretations to sets of answers", images
            )
        if index is None:
            index = table_names(probabilities)["index"]
        if getattr(probabilities, "ndim", 0) == 1:
            probabilities = reorder_by_names(probabilities, list(images))
        columns = column_names(probabilities) or list(images)
        if isinstance(probabilities, Mapping):
            columns = list(probabilities)
            probabilities = list(probabilities.values())
        values = validate_probabilities(probabilities, "probabilities", sum_to_one=True)
        if set(columns) != set(images) or values.shape[1] != len(images):
            raise InvalidParameterError(
                "probabilities", must=f"have the columns {list(images)}", value=columns
            )
        rows = set_rows([images[column] for column in columns], names, "images")
        masses, family = refinement.merge_sets(values, rows)
        return cls(masses, family, index, frame=names)

    @classmethod
    def from_function(
        cls, values: Any, focal_sets: FocalSets, kind: str = "belief", **keywords
    ) -> Self:
        """Return mass functions from the beliefs, or another set function, of all focal sets.

        Parameters
        ----------
        values : array-like of shape (n, f)
            Unnormalized values of the focal sets.
        focal_sets : FocalSets
            Family of the f focal sets. It must contain the whole frame for beliefs, and all sets
            for plausibilities.
        kind : {"belief", "plausibility", "commonality", "implicability"}, default="belief"
            Method of `MassFunctions` that computes the values from the masses.
        **keywords
            ``index`` and ``frame``, names of the rows and of the answers.

        Returns
        -------
        MassFunctions
            A `CredalPartition` if the method is called on that class.

        Examples
        --------
        >>> from dempster import FocalSets, MassFunctions
        >>> MassFunctions.from_function([[0, 0.5, 0.2, 1]], FocalSets.full(2), frame="ab")
        MassFunctions(1 mass function on {a,b})
        {a}: 0.5  {b}: 0.2  Ω: 0.3
        """
        check_choice(kind, "kind", transforms.KINDS)
        masses = transforms.masses_from_function(values, focal_sets, kind)
        try:
            return cls(masses, focal_sets, **keywords)
        except InvalidParameterError as error:
            if error.name != "masses":
                raise
            raise InvalidParameterError(
                "values", must=f"define valid mass functions, but {error}"
            ) from error

    @classmethod
    def from_contour(cls, contour: Any, **keywords) -> Self:
        """Return consonant mass functions (nested sets) from the plausibilities of the answers.

        Parameters
        ----------
        contour : array-like of shape (n, c)
            Plausibilities of the answers, in [0, 1].
        **keywords
            ``index`` and ``frame``, names of the rows and of the answers; by default those of a
            table.

        Returns
        -------
        MassFunctions
            A `CredalPartition` if the method is called on that class.
        """
        values = validate_probabilities(contour, "contour")
        nested = transforms.consonant_from_contour(values)
        return cls(
            *transforms.nested_masses(*nested), **(table_names(contour) | keywords)
        )

    @classmethod
    def from_pignistic(cls, probabilities: Any, **keywords) -> Self:
        """Return the least committed mass functions with the given pignistic probabilities.

        Parameters
        ----------
        probabilities : array-like of shape (n, c)
            Pignistic probabilities of the answers, which sum to one in each row.
        **keywords
            ``index`` and ``frame``, names of the rows and of the answers; by default those of a
            table.

        Returns
        -------
        MassFunctions
            A `CredalPartition` if the method is called on that class.
        """
        values = validate_probabilities(probabilities, "probabilities", sum_to_one=True)
        nested = transforms.consonant_from_pignistic(values)
        return cls(
            *transforms.nested_masses(*nested),
            **(table_names(probabilities) | keywords),
        )

    @classmethod
    def from_dirichlet(cls, alpha: Any, *, prior: Any = 1.0, **keywords) -> Self:
        """Return mass functions from the parameters of Dirichlet distributions.

        Evidential neural networks have this output.

        The evidence in the data is r = alpha - prior. With S the sum of alpha and W the sum of the
        prior, the mass of answer k is r_k / S, and the mass of the frame is W / S (Jøsang, 2016,
        section 3.5). Without evidence the mass function is vacuous.

        Parameters
        ----------
        alpha : array-like of shape (n, c)
            Parameters of the Dirichlet distributions, which must be at least ``prior``.
        prior : number or array-like of shape (c,), positive, default=1
            Parameters of the prior. Evidential deep learning uses 1, the uniform distribution
            (Sensoy et al., 2018); Jøsang uses 2/c.
        **keywords
            ``index`` and ``frame``, names of the rows and of the answers; by default those of a
            table.

        Returns
        -------
        MassFunctions
            A `CredalPartition` if the method is called on that class.

        References
        ----------
        A. Jøsang (2016). Subjective Logic: A Formalism for Reasoning Under Uncertainty. Springer.

        M. Sensoy, L. Kaplan and M. Kandemir (2018). Evidential deep learning to quantify
        classification uncertainty. Advances in Neural Information Processing Systems 31.

        Examples
        --------
        >>> from dempster import MassFunctions
        >>> m = MassFunctions.from_dirichlet([[8.0, 1.0, 1.0], [1.0, 1.0, 1.0]], frame="abc")
        >>> m.to_frame().round(2).values.tolist()  # {a}, {b}, {c}, the whole frame
        [[0.7, 0.0, 0.0, 0.3], [0.0, 0.0, 0.0, 1.0]]
        """
        names = table_names(alpha) | keywords
        prior = reorder_by_names(prior, names["frame"])
        return cls(*predictive.masses_from_dirichlet(alpha, prior), **names)

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        *,
        rule: str = "goodman",
        confidence: float = 0.95,
        prior_weight: float = 2.0,
        **keywords,
    ) -> Self:
        r"""Return beliefs about the next observation, given counts of earlier ones.

        Parameters
        ----------
        counts : array-like of shape (n, c)
            Number of observations of each answer. A row of zeros gives the vacuous mass function.
        rule : {"goodman", "dirichlet"}, default="goodman"
            With "goodman", the beliefs in all sets are at most their true probabilities with a
            probability of about ``confidence`` in repeated sampling (Denoeux, 2006). With
            "dirichlet", belief and plausibility are the lower and upper probabilities of the
            imprecise Dirichlet model (Walley, 1996).
        confidence : float in (0, 1), default=0.95
            Confidence level of the intervals, for ``rule="goodman"``.
        prior_weight : float > 0, default=2
            Number s of hidden prior observations, for ``rule="dirichlet"``; Walley recommends 1 or
            2.
        **keywords
            ``index`` and ``frame``, names of the rows and of the answers; by default those of a
            table.

        Returns
        -------
        MassFunctions
            A `CredalPartition` if the method is called on that class.

        Notes
        -----
        For ``rule="goodman"``, let [l_k, u_k] be simultaneous confidence intervals of the
        probabilities of the answers (Goodman, 1965). The lower probability of a set A is

        .. math::

            P(A) = \max\Bigl(\sum_{k \in A} l_k,\; 1 - \sum_{k \notin A} u_k\Bigr).

        For two or three answers, P is the belief function. For more answers it may not be a belief
        function. The masses then maximize the sum of the beliefs in all sets, with beliefs
        of at most P. Denoeux (2006) does not select one of the many solutions of this linear
        program; here the largest difference between P and the belief is as small as possible. The
        program is solved once for all rows with the same counts in any order, which takes from 2
        milliseconds (four answers) to a second (ten answers, the maximum).

        For ``rule="dirichlet"``, with N the sum of the counts, m({k}) = n_k / (N + s) and m(frame)
        = s / (N + s).

        References
        ----------
        T. Denoeux (2006). Constructing belief functions from sample data using multinomial
        confidence regions. International Journal of Approximate Reasoning 42.

        L. A. Goodman (1965). On simultaneous confidence intervals for multinomial proportions.
        Technometrics 7.

        P. Walley (1996). Inferences from multinomial data: learning about a bag of marbles. Journal
        of the Royal Statistical Society B 58.

        Examples
        --------
        >>> from dempster import MassFunctions
        >>> m = MassFunctions.from_counts([[3, 1], [300, 100]], frame=["heads", "tails"])
        >>> m.singleton_belief.round(2)
        array([[0.26, 0.04],
               [0.7 , 0.2 ]])
        >>> MassFunctions.from_counts([3, 2, 1], rule="dirichlet", frame="bgr")
        MassFunctions(1 mass function on {b,g,r})
        {b}: 0.375  {g}: 0.25  {r}: 0.125  Ω: 0.25
        """
        check_choice(rule, "rule", ("goodman", "dirichlet"))
        check(confidence, "confidence", real(0, 1, open_low=True, open_high=True))
        check(prior_weight, "prior_weight", real(0, open_low=True))
        values = predictive.validate_table(counts, "counts").astype(float)
        if rule == "goodman":
            masses, family = predictive.masses_from_counts(values, confidence)
        else:
            prior = prior_weight / values.shape[1]
            masses, family = predictive.masses_from_dirichlet(values + prior, prior)
        return cls(masses, family, **(table_names(counts) | keywords))

    # ---- masses ----------------------------------------------------------------------------------

    @property
    def masses(self) -> Array:
        """Masses as a read-only array or tensor of shape (n, f).

        They are computed at each access if they are stored as compressed rows (`stored_masses`).
        """
        if not is_sparse(self._masses):
            return self._masses
        n, f = self._masses.shape
        check_memory(
            n * f * self._masses.dtype.itemsize,
            f"the masses of {n:,} objects on {f:,} sets",
            "select fewer objects, or use methods that do not need the masses of all sets",
        )
        return freeze(self._masses.toarray())

    @property
    def stored_masses(self) -> Array:
        """Masses as they are stored: `masses`, or a SciPy sparse array for very many sets."""
        return self._masses

    @property
    def dtype(self) -> np.dtype:
        """Type of the masses."""
        return precision_of(self._masses)

    @property
    def n_clusters(self) -> int:
        """Number of answers of the frame."""
        return self.focal_sets.n_clusters

    @cached_property
    def empty(self) -> Array:
        """Mass of the empty set in each row, shape (n,)."""
        where = self.focal_sets.empty_index
        if where is None:
            return freeze(zeros((len(self),), self._masses))
        return freeze(select_columns(self._masses, np.array([where]))[:, 0])

    # ---- properties ------------------------------------------------------------------------------

    @property
    def is_normal(self) -> Array:
        """Whether the empty set has no mass, shape (n,)."""
        return ~self._has_focal(self.focal_sets.cardinality == 0)

    @property
    def is_vacuous(self) -> Array:
        """Whether only the whole frame has mass (complete ignorance), shape (n,)."""
        return ~self._has_focal(self.focal_sets.cardinality != self.n_clusters)

    @property
    def is_bayesian(self) -> Array:
        """Whether only single answers have mass (a probability distribution), shape (n,)."""
        return ~self._has_focal(self.focal_sets.cardinality != 1)

    @property
    def is_logical(self) -> Array:
        """Whether only one set has mass, shape (n,)."""
        return self._is_focal.sum(axis=1) == 1

    @property
    def is_certain(self) -> Array:
        """Whether only one single answer has mass, shape (n,)."""
        return self.is_logical & self.is_bayesian

    @property
    def is_consonant(self) -> Array:
        """Whether the focal sets are nested, shape (n,).

        The plausibility is then a possibility measure.
        """
        # |A ∩ B| <= min(|A|, |B|), with equality if A and B are nested. Summed over all pairs of
        # focal sets, the left side is the sum over the answers of the squared number of focal sets
        # that contain the answer, and the right side is the sum over k of the squared number of
        # focal sets with more than k answers.
        is_focal = self._is_focal
        is_larger = self.focal_sets.cardinality[:, None] > np.arange(self.n_clusters)
        common = multiply_rows(is_focal, self.focal_sets.membership)
        smaller = multiply_rows(is_focal, is_larger)
        return (common**2).sum(axis=1) == (smaller**2).sum(axis=1)

    @property
    def _is_focal(self) -> Array:
        """1 for each set with a mass above the tolerance for rounding errors, shape (n, f)."""
        is_focal = self._masses > rounding_tolerance(self._masses)
        if is_tensor(is_focal):
            return is_focal.to(self._masses.dtype)
        return is_focal.astype(self.dtype)

    def _has_focal(self, is_chosen: np.ndarray) -> Array:
        return multiply_rows(self._is_focal, is_chosen[:, None])[:, 0] > 0

    # ---- measures --------------------------------------------------------------------------------

    def mass(self, sets: Any = None) -> Array:
        """Return the masses of the given sets, 0 for a set outside the family.

        Parameters
        ----------
        sets : set, list of sets, FocalSets or None, default=None
            Sets A; see `belief`.

        Returns
        -------
        array of shape (n,) for one set, of shape (n, s) for s sets
        """
        rows, single = self.membership_rows(sets)
        where = self.focal_sets.find(rows)
        values = select_columns(self._masses, where)
        values = values * cast_like(where >= 0, self._masses)
        if single:
            return values[:, 0]
        return values

    def membership_rows(self, sets: Any, name: str = "sets") -> tuple[np.ndarray, bool]:
        """Return the Boolean membership array of some sets, and whether they are a single set.

        Parameters
        ----------
        sets : set, list of sets, FocalSets or None
            Sets of answers; see `belief`.
        name : str, default="sets"
            Name of the argument in errors.

        Returns
        -------
        rows : Boolean array of shape (s, c)
            Entry (j, k) is true if set j contains answer k.
        single : bool
            Whether ``sets`` is a single set.
        """
        return membership_rows(sets, self.focal_sets, self.frame, name)

    def belief(self, sets: Any = None, *, normalized: bool = False) -> Array:
        r"""Return bel(A), the sum of m(B) over the nonempty subsets B of A.

        It is the support for "the answer is in A".

        .. math::

            bel(A) = \sum_{\emptyset \neq B \subseteq A} m(B)

        Parameters
        ----------
        sets : set, list of sets, FocalSets or None, default=None
            Sets A. A set is a tuple or frozenset of answers, given by name (see `frame`) or index.
            None stands for all sets of the family.
        normalized : bool, default=False
            Whether to divide by 1 - m(empty set).

        Returns
        -------
        array of shape (n,) for one set, of shape (n, s) for s sets
        """
        return self._measure(
            lambda own, rows: is_subset(own, rows) & own.any(axis=1)[:, None],
            sets,
            normalized,
        )

    def implicability(self, sets: Any = None) -> Array:
        r"""Return the implicability b(A) = bel(A) + m(empty set).

        .. math::

            b(A) = bel(A) + m(\emptyset) = \sum_{B \subseteq A} m(B)

        Parameters
        ----------
        sets : set, list of sets, FocalSets or None, default=None
            Sets A; see `belief`.

        Returns
        -------
        array of shape (n,) for one set, of shape (n, s) for s sets
        """
        return self._measure(is_subset, sets, False)

    def plausibility(self, sets: Any = None, *, normalized: bool = False) -> Array:
        r"""Return pl(A), the sum of m(B) over all sets B that intersect A.

        .. math::

            pl(A) = \sum_{B \cap A \neq \emptyset} m(B)

        Parameters
        ----------
        sets : set, list of sets, FocalSets or None, default=None
            Sets A; see `belief`.
        normalized : bool, default=False
            Whether to divide by 1 - m(empty set).

        Returns
        -------
        array of shape (n,) for one set, of shape (n, s) for s sets
        """
        return self._measure(
            lambda own, rows: own.astype(float) @ rows.T > 0, sets, normalized
        )

    def commonality(self, sets: Any = None) -> Array:
        r"""Return q(A), the sum of m(B) over all sets B that contain A.

        .. math::

            q(A) = \sum_{B \supseteq A} m(B)

        Parameters
        ----------
        sets : set, list of sets, FocalSets or None, default=None
            Sets A; see `belief`.

        Returns
        -------
        array of shape (n,) for one set, of shape (n, s) for s sets
        """
        return self._measure(lambda own, rows: is_subset(rows, own).T, sets, False)

    @cached_property
    def contour(self) -> Array:
        """Plausibilities of the single answers, shape (n, c)."""
        return freeze(multiply_rows(self._masses, self.focal_sets.membership))

    @cached_property
    def singleton_belief(self) -> Array:
        """Beliefs in the single answers, shape (n, c), which are the masses of the singletons."""
        where = self.focal_sets.singleton_index
        return freeze(
            select_columns(self._masses, where) * cast_like(where >= 0, self._masses)
        )

    def pignistic(self, *, normalized: bool = True) -> Array:
        r"""Return the pignistic probabilities of the answers (Smets and Kennes, 1994).

        .. math::

            BetP(k) = \frac{1}{1 - m(\emptyset)} \sum_{A \ni k} \frac{m(A)}{|A|}

        They divide the mass of each set equally among its answers. Unless ``normalized=False``,
        they are divided by 1 - m(empty set), and they are uniform if m(empty set) = 1. They lie
        between belief and plausibility if either all three or none of them are normalized.

        Parameters
        ----------
        normalized : bool, default=True
            Whether to divide by 1 - m(empty set).

        Returns
        -------
        array of shape (n, c)
        """
        share = (
            self.focal_sets.membership
            / np.maximum(self.focal_sets.cardinality, 1)[:, None]
        )
        return self._per_answer(multiply_rows(self._masses, share), normalized)

    def plausibility_transform(self) -> Array:
        """Return the plausibilities of the answers, divided by their sum (1/c if all are zero).

        Returns
        -------
        array of shape (n, c)
        """
        return self._per_answer(self.contour, normalized=True)

    def conflict(self, other: MassFunctions | None = None) -> Array:
        r"""Return the degree of conflict in each row.

        .. math::

            \kappa = \sum_{A \cap B = \emptyset} m_1(A) m_2(B)

        Here m_1 is a row of this object, and m_2 is the matching row of ``other`` (see `combine`),
        by default m_1.

        Parameters
        ----------
        other : MassFunctions, optional
            Mass functions on the same frame.

        Returns
        -------
        array of shape (n,)
        """
        other = self if other is None else self._matched(other)
        disjoint = ~(
            self.focal_sets.membership.astype(float) @ other.focal_sets.membership.T > 0
        )
        rows, others = _broadcast_rows(self, other)
        return row_products(rows, disjoint, others)

    def nonspecificity(self) -> Array:
        r"""Return the nonspecificity of each row, from 0 (precise) to log2 c (vacuous).

        .. math::

            N(m) = \sum_A m(A) \log_2 |A|

        For the empty set, |A| is set to c.

        Returns
        -------
        array of shape (n,)
        """
        size = self.focal_sets.cardinality.astype(float)
        size[size == 0] = self.n_clusters
        return self._masses @ cast_like(np.log2(size), self._masses)

    def distance(self, other: MassFunctions) -> Array:
        """Return the Jousselme distance between each row and the matching row of ``other``.

        It is a metric with values up to 1. Rows match as in `combine`.

        Parameters
        ----------
        other : MassFunctions
            Mass functions on the same frame.

        Returns
        -------
        array of shape (n,)
        """
        other = self._matched(other)
        family = self.focal_sets.union(other.focal_sets)
        rows, others = _broadcast_rows(self.to_family(family), other.to_family(family))
        difference = rows - others
        # sqrt(d' J d / 2) for each row d, with Jaccard indices J (Jousselme et al., 2001)
        squared = row_products(difference, family.jaccard, difference)
        library = library_of(squared)
        return library.sqrt(library.clip(squared / 2, 0, None))

    # ---- operations ------------------------------------------------------------------------------

    def combine(self, *others: MassFunctions, rule: str = "dempster") -> MassFunctions:
        r"""Combine each row with the matching rows of one or several other sources of evidence.

        If both sources have an `index`, rows with the same name match. The names must be the same,
        in any order, and the result has the order of this object. Otherwise, rows at the same
        position match. A source with a single mass function is combined with every row.

        Parameters
        ----------
        *others : MassFunctions
            Sources of evidence on the same frame.
        rule : str, default="dempster"
            "dempster", "conjunctive", "disjunctive", "dubois_prade", "yager", "pcr6", "average",
            "cautious" or "bold". The rules of Dubois and Prade, Yager and PCR6 are not associative;
            they combine all sources at once.

        Returns
        -------
        MassFunctions

        Notes
        -----
        For two sources m_1 and m_2, the conjunctive rule, the disjunctive rule and Dempster's rule
        are

        .. math::

            &m_\cap(A) = \sum_{B \cap C = A} m_1(B) m_2(C), \qquad
            m_\cup(A) = \sum_{B \cup C = A} m_1(B) m_2(C),

            &m_\oplus(A) = \frac{m_\cap(A)}{1 - m_\cap(\emptyset)}
            \quad\text{for } A \neq \emptyset.

        The other rules treat the conflict, the mass of the empty set under the conjunctive rule,
        differently. Yager's rule moves it to the frame. If B and C are disjoint, the rule of Dubois
        and Prade assigns the product of their masses to their union, and PCR6 divides it among B
        and C in proportion to their masses. "average" is the mean of the masses. The cautious rule,
        for dependent sources, takes the minimum of the conjunctive weights of the sources for every
        set, and the bold rule is its disjunctive counterpart (Denoeux, 2008).
        """
        for other in others:
            self._check_frame(other)
        longest = max((self, *others), key=lambda m: (len(m) != 1, len(m)))
        sources = [longest._matched(m) for m in (self, *others)]
        masses, family = combine_masses(
            [(m.masses, m.focal_sets) for m in sources], rule
        )
        names = next(
            (
                m.index
                for m in sources
                if m.index is not None and len(m) == len(longest)
            ),
            None,
        )
        return MassFunctions.unchecked(masses, family, names, self.frame)

    def __and__(self, other: object) -> MassFunctions:
        """Combine by the conjunctive rule, ``a.combine(b, rule="conjunctive")``.

        ``a.combine(b)`` applies Dempster's rule, which normalizes the result.
        """
        if isinstance(other, MassFunctions):
            return self.combine(other, rule="conjunctive")
        return NotImplemented

    def __or__(self, other: object) -> MassFunctions:
        """Combine by the disjunctive rule, ``a.combine(b, rule="disjunctive")``."""
        if isinstance(other, MassFunctions):
            return self.combine(other, rule="disjunctive")
        return NotImplemented

    def discount(self, rate: Any) -> MassFunctions:
        r"""Discount a source that is unreliable with probability ``rate``.

        Parameters
        ----------
        rate : number, array of shape (n,), or mapping of sets to numbers, in [0, 1]
            With a number, or one number per row, each mass is multiplied by 1 - rate, and the rest
            is added to the mass of the whole frame.

            With a mapping ``{set: rate}``, the discounting is contextual. The source is then
            unreliable with probability ``rate`` *if the answer is in the set*.

        Returns
        -------
        MassFunctions

        Notes
        -----
        Contextual discounting is the disjunctive combination with a mass function m_A for every
        context A, where m_A(empty set) = 1 - rate(A) and m_A(A) = rate(A). The contexts are a
        partition of the frame in Mercier, Quost and Denoeux (2008), and any sets in Mercier,
        Lefevre and Delmotte (2012). The plausibility of an answer k becomes

        .. math::

            pl'(k) = 1 - (1 - pl(k)) \prod_{A \ni k} (1 - \mathrm{rate}(A)).

        The whole frame as the only context is plain discounting.
        `dempster.classify.ContextualDiscounting` learns the rates from labeled objects.

        References
        ----------
        D. Mercier, B. Quost and T. Denoeux (2008). Refined modeling of sensor reliability in the
        belief function framework using contextual discounting. Information Fusion 9.

        D. Mercier, E. Lefevre and F. Delmotte (2012). Belief functions contextual discounting and
        canonical decompositions. International Journal of Approximate Reasoning 53.

        Examples
        --------
        >>> from dempster import MassFunctions
        >>> frame = ["plane", "helicopter", "rocket"]
        >>> radar = MassFunctions.from_dict({"plane": 0.5, "rocket": 0.5}, frame)
        >>> radar.discount(0.4)
        MassFunctions(1 mass function on {plane,helicopter,rocket})
        {plane}: 0.3  {rocket}: 0.3  Ω: 0.4
        >>> radar.discount({"plane": 0.4, ("helicopter", "rocket"): 0.1})
        MassFunctions(1 mass function on {plane,helicopter,rocket})
        {plane}: 0.45  {rocket}: 0.27  {plane,rocket}: 0.18  {helicopter,rocket}: 0.03  Ω: 0.07
        """
        if not isinstance(rate, Mapping):
            rate = reorder_like(rate, self.index)
            return self._like(
                *combination.discount(self._masses, self.focal_sets, rate)
            )
        contexts = set_rows(list(rate), self.frame, "rate")
        rates = list(rate.values())
        return self._like(
            *combination.discount_contexts(
                self.masses, self.focal_sets, contexts, rates
            )
        )

    def condition(self, event: Any, *, normalized: bool = True) -> MassFunctions:
        """Condition on a set that is known to contain the answer.

        Parameters
        ----------
        event : set
            Tuple or frozenset of answers, given by name (see `frame`) or index.
        normalized : bool, default=True
            Whether to apply Dempster's rule. Otherwise the conjunctive rule is applied, and mass
            outside the event becomes mass on the empty set.

        Returns
        -------
        MassFunctions
        """
        check_flags(normalized=normalized)
        rows, single = self.membership_rows(event, "event")
        if not single:
            raise InvalidParameterError("event", "one set of answers", event)
        certain = MassFunctions.unchecked(
            cast_like(np.ones((1, 1)), self._masses), FocalSets(rows), None, self.frame
        )
        return self.combine(certain, rule="dempster" if normalized else "conjunctive")

    def normalize(self, rule: str = "dempster") -> MassFunctions:
        """Remove the mass of the empty set.

        Parameters
        ----------
        rule : {"dempster", "yager"}, default="dempster"
            "dempster" divides the other masses by 1 - m(empty set); a row with all mass on the
            empty set becomes vacuous, and a warning is issued. "yager" moves the mass to the frame.

        Returns
        -------
        MassFunctions
        """
        check_choice(rule, "rule", NORMALIZATIONS)
        if self.focal_sets.empty_index is None:
            return self
        n_lost = int((self.empty >= 1).sum())
        if rule == "dempster" and n_lost:
            warnings.warn(
                f"{n_lost} mass functions with all mass on the empty set became vacuous",
                stacklevel=2,
            )
        return self._like(*NORMALIZATIONS[rule](self._masses, self.focal_sets))

    def to_family(self, focal_sets: FocalSets) -> MassFunctions:
        """Return the same mass functions on another family of focal sets.

        Parameters
        ----------
        focal_sets : FocalSets
            Family of sets of the same answers, which must contain every set with mass.

        Returns
        -------
        MassFunctions
        """
        if validate_family(focal_sets, "focal_sets") == self.focal_sets:
            return self
        if focal_sets.n_clusters != self.n_clusters:
            raise InvalidParameterError(
                "focal_sets",
                must=f"have {self.n_clusters} clusters, got {focal_sets.n_clusters}",
            )
        where = focal_sets.find(self.focal_sets.membership)
        if (self._masses[:, where < 0] > 0).sum() > 0:
            raise InvalidParameterError(
                "focal_sets", must="contain every set that has mass"
            )
        kept = self._masses[:, where >= 0]
        masses = move_columns(kept, where[where >= 0], len(focal_sets))
        return self._like(masses, focal_sets)

    def coarsen(self, parts: Mapping[Hashable, Any]) -> MassFunctions:
        """Return mass functions on a coarser frame, in which sets of answers become single answers.

        The mass of a set moves to the set of all coarse answers that intersect it (the outer
        reduction of Shafer).

        Parameters
        ----------
        parts : mapping {coarse answer: set of answers}
            Partition of the frame; each answer is in exactly one set.

        Returns
        -------
        MassFunctions
            Mass functions on the frame of the keys of ``parts``.

        References
        ----------
        G. Shafer (1976). A Mathematical Theory of Evidence. Princeton University Press. Chapter 6.

        Examples
        --------
        >>> from dempster import MassFunctions
        >>> masses = {"cat": 0.5, ("cat", "dog"): 0.2, ("dog", "duck"): 0.3}
        >>> m = MassFunctions.from_dict(masses, frame=["cat", "dog", "duck"])
        >>> m.coarsen({"mammal": ("cat", "dog"), "bird": "duck"})
        MassFunctions(1 mass function on {mammal,bird})
        {mammal}: 0.7  Ω: 0.3
        """
        return self._coarsen(*refinement.parse_coarsening(parts, self.frame))

    def refine(self, parts: Mapping[Hashable, Sequence[Hashable]]) -> MassFunctions:
        """Return mass functions on a finer frame, in which answers are divided.

        The mass of a set moves to the set of all finer answers of its answers. `coarsen` with the
        same argument is the inverse operation.

        Parameters
        ----------
        parts : mapping {answer: sequence of finer answers}
            Finer answers of each answer of the frame.

        Returns
        -------
        MassFunctions

        Examples
        --------
        >>> from dempster import MassFunctions
        >>> frame = ("mammal", "bird")
        >>> m = MassFunctions.from_dict({"mammal": 0.7, frame: 0.3}, frame)
        >>> m.refine({"mammal": ["cat", "dog"], "bird": ["duck"]})
        MassFunctions(1 mass function on {cat,dog,duck})
        {cat,dog}: 0.7  Ω: 0.3
        """
        return self._refine(*refinement.parse_refinement(parts, self.frame))

    def marginalize(self, component: int | Sequence[int]) -> MassFunctions:
        """Return mass functions about some components of the answers, on a product of frames.

        The answers are tuples, such as ("red", "round") for a color and a shape. The mass of a set
        moves to the projection of the set. `vacuous_extension` is the inverse operation for the
        projections.

        Parameters
        ----------
        component : int or sequence of int
            Indices of the components to keep. With one component, the answers of the result are not
            tuples.

        Returns
        -------
        MassFunctions

        Examples
        --------
        >>> from dempster import MassFunctions
        >>> color, shape = ("red", "blue"), ("round", "square")
        >>> m = MassFunctions.from_dict({"red": 0.6, ("red", "blue"): 0.4}, frame=color)
        >>> joint = m.vacuous_extension([color, shape], component=0)
        >>> joint.marginalize(0)
        MassFunctions(1 mass function on {red,blue})
        {red}: 0.6  Ω: 0.4
        >>> joint.marginalize(1)  # Nothing is known about the shape.
        MassFunctions(1 mass function on {round,square})
        Ω: 1
        """
        return self._coarsen(*refinement.project(self.frame, component))

    def vacuous_extension(
        self, frames: Sequence[Sequence[Hashable]], component: int | Sequence[int]
    ) -> MassFunctions:
        """Return mass functions on a product of frames, without adding information.

        The mass of a set A moves to the set of all tuples whose component is in A. Mass functions
        about different components can be combined after they have been extended to the same
        product.

        Parameters
        ----------
        frames : sequence of frames
            Frames of the components. The answers of the result are the tuples of one answer of each
            frame.
        component : int or sequence of int
            Index of the component that the mass functions are about; several indices if their
            answers are tuples.

        Returns
        -------
        MassFunctions

        Examples
        --------
        Two sensors determine whether two objects are cars. Do they belong to the same class?

        >>> from dempster import MassFunctions
        >>> frame = ("car", "other")
        >>> first = MassFunctions.from_dict({"car": 0.8, frame: 0.2}, frame)
        >>> second = MassFunctions.from_dict({"car": 0.5, "other": 0.4, frame: 0.1}, frame)
        >>> joint = first.vacuous_extension([frame, frame], component=0)
        >>> joint &= second.vacuous_extension([frame, frame], component=1)
        >>> same = [(name, name) for name in frame]
        >>> joint.coarsen({"same": same, "different": set(joint.frame) - set(same)})
        MassFunctions(1 mass function on {same,different})
        {same}: 0.4  {different}: 0.32  Ω: 0.28
        """
        return self._refine(*refinement.extend(self.frame, frames, component))

    def _coarsen(
        self, coarse: np.ndarray, frame: tuple[Hashable, ...]
    ) -> MassFunctions:
        masses, family = refinement.coarsen(self._masses, self.focal_sets, coarse)
        return MassFunctions.unchecked(masses, family, self.index, frame)

    def _refine(self, coarse: np.ndarray, frame: tuple[Hashable, ...]) -> MassFunctions:
        return MassFunctions.unchecked(
            self._masses, refinement.refine(self.focal_sets, coarse), self.index, frame
        )

    def decide(
        self,
        rule: str = "pignistic",
        *,
        losses: Any = None,
        reject: float | None = None,
        optimism: float = 0.5,
    ) -> Array:
        """Choose an act for each row.

        Parameters
        ----------
        rule : {"pignistic", "maximax", "maximin", "hurwicz", "interval_dominance", "maximality"}
            "pignistic", "maximax" (optimistic) and "maximin" (pessimistic) minimize the pignistic,
            the lower and the upper expected loss. With 0-1 losses they choose the answer with the
            largest pignistic probability, plausibility and belief, respectively. "hurwicz"
            minimizes ``optimism`` times the lower plus 1 - ``optimism`` times the upper expected
            loss. "interval_dominance" keeps every act whose lower expected loss is not above the
            upper expected loss of any other act. "maximality" keeps a subset of these acts: an act
            is removed if another act has a smaller expected loss for every probability distribution
            compatible with the masses.
        losses : array-like of shape (c, acts) or (c + 1, acts), optional
            Loss of each act (column) if the answer of the row is true; by default 0-1 losses. Row c
            + 1 is for an unknown answer, which only the whole frame contains.
        reject : float, optional
            Loss of rejection. If the expected losses of all acts are larger, the result is -1.
        optimism : float in [0, 1]
            Weight of the lower expected loss, for ``rule="hurwicz"``.

        Returns
        -------
        array
            Index of the act, shape (n,), with -1 for rejection. For "interval_dominance" and
            "maximality", a Boolean array of shape (n, acts), true for the acts that are kept.

        Notes
        -----
        The masses are first normalized by Dempster's rule; a row with all mass on the empty set
        becomes vacuous.
        """
        losses = reorder_by_names(losses, self.frame)
        return decisions.decide(*self._normalized, rule, losses, reject, optimism)

    def decide_sets(
        self,
        tolerance: float = 0.8,
        *,
        rule: str = "pignistic",
        optimism: float = 0.5,
        max_size: int | None = None,
    ) -> Array:
        """Choose the *set* of answers with the smallest expected loss for each row.

        Parameters
        ----------
        tolerance : float in [0.5, 1], default=0.8
            Tolerance to imprecision. It is the utility of a set of two answers that contains the
            true answer; the utility of the true answer alone is 1.
        rule : {"pignistic", "maximax", "maximin", "hurwicz"}, default="pignistic"
            Expected loss that is minimized; see `decide`.
        optimism : float in [0, 1], default=0.5
            Weight of the lower expected loss, for ``rule="hurwicz"``.
        max_size : int, optional
            Maximum number of answers of a set other than the whole frame. By default it is 2 for
            frames of more than eight answers, otherwise there is no limit.

        Returns
        -------
        Boolean array of shape (n, c), true for the answers in the chosen set
        """
        return decisions.decide_sets(
            *self._normalized, tolerance, rule, optimism, max_size
        )

    def expected_losses(
        self, rule: str = "pignistic", *, losses: Any = None, optimism: float = 0.5
    ) -> Array:
        """Return the expected losses that `decide` minimizes.

        Parameters
        ----------
        rule : {"pignistic", "maximax", "maximin", "hurwicz"}, default="pignistic"
            Kind of the expected loss; see `decide`.
        losses : array-like of shape (c, acts) or (c + 1, acts), optional
            Loss of each act (column) if the answer of the row is true; by default 0-1 losses.
        optimism : float in [0, 1], default=0.5
            Weight of the lower expected loss, for ``rule="hurwicz"``.

        Returns
        -------
        array of shape (n, acts)
        """
        costs = decisions.validate_losses(
            reorder_by_names(losses, self.frame), self.n_clusters
        )
        return decisions.expected_losses(*self._normalized, costs, rule, optimism)

    @property
    def _normalized(self) -> tuple[Array, FocalSets]:
        return remove_empty(self._masses, self.focal_sets)

    # ---- conversion ------------------------------------------------------------------------------

    def to_dense(self) -> Array:
        """Return the masses of all subsets of the frame.

        Returns
        -------
        array of shape (n, 2^c)
            Bit k of the column index is 1 if answer k is in the set.
        """
        n_bytes = len(self) * self.dtype.itemsize << self.n_clusters
        what = f"{len(self):,} rows of 2^{self.n_clusters} masses"
        check_memory(n_bytes, what, "convert fewer rows at once")
        return transforms.to_dense(self.masses, self.focal_sets)

    def to_frame(self, *, top: int | None = None) -> pd.DataFrame:
        """Return a table with a column for each set, or with the largest masses.

        Parameters
        ----------
        top : int or None, default=None
            Number of the largest masses of each row, for very many sets. The columns are then
            "set 1", "mass 1", "set 2" and so on, in decreasing order of the masses.

        Returns
        -------
        DataFrame

        Examples
        --------
        >>> from dempster import MassFunctions
        >>> masses = [{"a": 1}, {"a": 0.5, "ab": 0.5}]
        >>> m = MassFunctions.from_dict(masses, frame="ab", index=["x", "y"])
        >>> m.to_frame()
           {a}    Ω
        x  1.0  0.0
        y  0.5  0.5
        >>> m.to_frame(top=1)
          set 1  mass 1
        x   {a}     1.0
        y   {a}     0.5
        """
        import pandas as pd

        check(top, "top", choice(None) | integer(1))
        names = self.focal_sets.names(self.frame)
        if top is None:
            return pd.DataFrame(np.array(self), self.index, names)
        which, masses = largest_in_rows(self.to_numpy()._masses, min(top, len(names)))
        sets = np.array([*names, ""])[which]  # The last name is that of no set.
        columns = {}
        for rank in range(masses.shape[1]):
            columns[f"set {rank + 1}"] = sets[:, rank]
            columns[f"mass {rank + 1}"] = masses[:, rank]
        return pd.DataFrame(columns, self.index)

    def to_numpy(self) -> Self:
        """Return the same mass functions with the masses in a NumPy array instead of a tensor.

        Returns
        -------
        object of the same class

        Examples
        --------
        >>> from dempster import FocalSets, MassFunctions
        >>> import torch
        >>> m = MassFunctions(torch.tensor([[0.25, 0.75]]), FocalSets.from_sets(2, [(0,), (0, 1)]))
        >>> type(m.masses).__name__, type(m.to_numpy().masses).__name__
        ('Tensor', 'ndarray')
        """
        if not is_tensor(self._masses):
            return self
        return self._copy_with(to_host(self._masses), self.index)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return the masses as a NumPy array."""
        return np.array(to_host(self.masses), dtype, copy=copy)

    def __len__(self) -> int:
        return int(self._masses.shape[0])

    def __getitem__(self, rows: Any) -> Self:
        """Return the rows given by an index, a slice, a Boolean mask or an array of indices."""
        positions = row_positions([rows] if is_integer(rows) else rows, len(self))
        index = self.index
        # NumPy would convert a list of tuples to a 2-D array.
        if isinstance(index, list | tuple):
            index = np.fromiter(index, dtype=object, count=len(self))
        if index is not None:
            index = np.asarray(index, object)[positions]
        return self._copy_with(self._masses[positions], index)

    def __repr__(self) -> str:
        answers = ",".join(map(printable, self.frame))
        if self.n_clusters > _MAX_TEXT_ANSWERS:
            answers = f"{self.n_clusters} answers"
        lines = [
            f"{type(self).__name__}({format_count(len(self), 'mass function')} on {{{answers}}})"
        ]
        lines += [_row_text(self, i) for i in range(min(len(self), _MAX_TEXT_ROWS))]
        if len(self) > _MAX_TEXT_ROWS:
            lines.append(f"... {len(self) - _MAX_TEXT_ROWS} more")
        return "\n".join(lines)

    # ---- helpers ---------------------------------------------------------------------------------

    def _like(self, masses: Array, focal_sets: FocalSets) -> MassFunctions:
        return MassFunctions.unchecked(masses, focal_sets, self.index, self.frame)

    def _copy_with(self, masses: Array, index: Any) -> Self:
        return type(self).unchecked(masses, self.focal_sets, index, self.frame)

    def _measure(self, relation, sets: Any, normalized: bool) -> Array:
        check_flags(normalized=normalized)
        rows, single = self.membership_rows(sets)
        values = multiply_rows(self._masses, relation(self.focal_sets.membership, rows))
        if normalized:
            values = divide(values, 1 - self.empty[:, None], 0)
        if single:
            return values[:, 0]
        return values

    def _per_answer(self, values: Array, normalized: bool) -> Array:
        check_flags(normalized=normalized)
        if not normalized:
            return values
        # The sum is 1 - m(empty set) for the pignistic probabilities.
        total = values.sum(axis=1, keepdims=True)
        return divide(values, total, 1 / self.n_clusters)

    def _matched(self, other: Any) -> MassFunctions:
        """Return ``other`` with its rows in the order of the rows of this object.

        A single row is not changed.
        """
        self._check_frame(other)
        unify_tensors(
            [(self._masses, self.focal_sets), (other._masses, other.focal_sets)]
        )
        if other is self or len(other) == 1 or len(self) == 1:
            return other
        order = match_names(other.index, self.index)
        if order is None:
            return other
        return other[order]

    def _check_frame(self, other: Any) -> None:
        if not isinstance(other, MassFunctions):
            raise InvalidParameterError("other", "MassFunctions", other)
        if other.frame != self.frame:
            raise InvalidParameterError(
                "other", must=f"have the frame {self.frame}, got {other.frame}"
            )


def _broadcast_rows(m: MassFunctions, other: MassFunctions) -> tuple[Array, Array]:
    """Return the masses of both objects, as compressed rows if those of one object are."""
    if len(other) not in (1, len(m)):
        raise InvalidParameterError(
            "other", must=f"contain {len(m)} mass functions (or one), got {len(other)}"
        )
    rows = m.stored_masses
    others = other.stored_masses
    if is_sparse(rows) or is_sparse(others):
        kind = type(rows) if is_sparse(rows) else type(others)
        repeated = np.zeros(len(m), int) if len(other) == 1 else slice(None)
        return kind(rows), kind(others)[repeated]
    return rows, library_of(others).broadcast_to(others, (len(m), others.shape[1]))


def _row_text(m: MassFunctions, i: int) -> str:
    sets = m.focal_sets.names([printable(name) for name in m.frame])
    row = to_host(m[i].masses[0])
    largest = [
        j for j in np.argsort(-row, kind="stable")[:_MAX_TEXT_SETS] if row[j] >= 5e-4
    ]
    text = "  ".join(f"{sets[j]}: {float(row[j]):.3g}" for j in sorted(largest))
    if m.index is None:
        return text
    return f"{printable(m.index[i])}: {text}"
