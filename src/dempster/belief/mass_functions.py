"""n mass functions on one frame, and everything the calculus does with them."""

from __future__ import annotations

import html
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from dempster._arrays import (
    Array,
    copied,
    divided,
    frozen,
    library_of,
    like,
    rows_times,
    to_device_of,
    to_host,
    zeros,
)
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._text import format_count, printable
from dempster._validation import (
    check_choice,
    check_flags,
    in_order_of,
    is_integer,
    listed,
    names_of_table,
    order_of_names,
    ordered_like,
    table,
)
from dempster.belief import combination, decisions, opinions, transforms
from dempster.belief._arguments import (
    SUM_TOLERANCE,
    checked_frame,
    checked_index,
    checked_masses,
    checked_positions,
    checked_probabilities,
    in_order_of_sets,
    membership_rows,
    positions,
)
from dempster.belief.combination import NORMALIZATIONS, combine_masses, in_one_place, remove_empty
from dempster.belief.focal_sets import FocalSets, checked_family, inside
from dempster.belief.opinions import Opinions

_BLOCK_ROWS = 65536
_BLOCK_CELLS = 1 << 20  # beliefs computed at once
_MAX_BELIEFS = 1_000_000_000  # in all, some twenty seconds
_MAX_FRAME = 20
_SHOWN_LINES = 5
_SHOWN_ROWS = 20
_SHOWN_SETS = 6
_NAMED_ANSWERS = 8


class MassFunctions:
    """n mass functions on one frame, a row each.

    A mass function shares a unit of belief between *sets* of possible answers: mass on one answer is knowledge,
    mass on several is ignorance between them, mass on the empty set says "none of these".

    Parameters
    ----------
    masses : array-like of shape (n, f)
        Nonnegative, rows summing to one. Rounding errors (above -1e-10, sums within 1e-6 of one) are repaired,
        anything else is refused. float32 stays float32. A tensor of torch stays one: all that is computed from it is a
        tensor on its device, and gradients go through.
    focal_sets : FocalSets
        The sets of the columns.
    index : sequence of length n, optional
        Names of the rows, kept by `to_frame`; by default those of a table. Columns of a table that are called as the
        sets, in another order, are put into theirs.
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
    >>> m1 & m2  # the same before the conflict is removed
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
            focal_sets = masses.focal_sets if focal_sets is None else focal_sets
            index = masses.index if index is None else index
            frame = masses.frame if frame is None else frame
            masses = masses.masses
        if not isinstance(focal_sets, FocalSets):
            raise InvalidParameterError("focal_sets", "a FocalSets", focal_sets)
        names = checked_frame(frame, focal_sets.n_clusters)
        index = names_of_table(masses)["index"] if index is None else index
        masses = in_order_of_sets(masses, focal_sets, names)
        self._set(checked_masses(masses, len(focal_sets)), focal_sets, index, names)

    def _set(self, masses, focal_sets, index, frame) -> None:
        self._masses = frozen(masses)
        self.focal_sets = focal_sets
        self.index = None if index is None else checked_index(index, len(masses))
        c = focal_sets.n_clusters
        self.frame: tuple[Any, ...] = tuple(range(c)) if frame is None else checked_frame(frame, c)

    @classmethod
    def unchecked(cls, masses: Array, focal_sets: FocalSets, index=None, frame=None, **more) -> Self:
        """Without checks and copies, for masses that are known to be valid; the array must not be changed after."""
        self = cls.__new__(cls)
        self._set(masses, focal_sets, index, frame, **more)
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Copies and pickles are as immutable as what they were made of."""
        self.__dict__.update(state)
        for value in state.values():
            frozen(value)

    # ---- other ways to make them -----------------------------------------------------------------------------------

    @classmethod
    def from_dict(
        cls,
        masses: Mapping[Any, float] | Sequence[Mapping[Any, float]],
        frame: Iterable[Hashable],
        index: Sequence[Hashable] | None = None,
    ) -> Self:
        """From ``{set of names: mass}`` (or a list of such dictionaries).

        A set is a tuple or frozenset of names of the frame, a single name, or ``()`` for the empty set.
        """
        listed_names = listed(list(frame) if isinstance(frame, str) else frame, "frame", "names of answers")
        names = checked_frame(listed_names, len(listed_names))
        rows = [masses] if isinstance(masses, Mapping) else listed(masses, "masses", "dictionaries {set: mass}")
        if not rows or not all(isinstance(row, Mapping) for row in rows):
            raise InvalidParameterError(
                "masses", must="hold at least one dictionary {set: mass} and nothing else", value=masses
            )
        sets = [{positions(key, names, "masses"): value for key, value in row.items()} for row in rows]
        for row, given in zip(sets, rows, strict=True):
            if len(row) < len(given):
                raise InvalidParameterError("masses", message=f"masses names the same set twice: {list(given)}")
        used = sorted({s for row in sets for s in row}, key=lambda s: (len(s), s))
        family = FocalSets.from_sets(len(names), used)
        return cls([[row.get(s, 0.0) for s in used] for row in sets], family, index, frame=names)

    @classmethod
    def from_belief(cls, values: Any, focal_sets: FocalSets, **keywords) -> Self:
        """From unnormalised beliefs of the sets of the family (which must hold all focal sets and the whole frame)."""
        values = transforms.table_of_values(values, checked_family(focal_sets, "focal_sets"))
        if focal_sets.omega_index is None:
            raise InvalidParameterError("focal_sets", must="hold the whole frame: m(∅) = 1 - bel(whole frame)")
        empty = 1 - values[:, [focal_sets.omega_index]]
        return cls.from_implicability(values + empty, focal_sets, **keywords)

    @classmethod
    def from_implicability(cls, values: Any, focal_sets: FocalSets, **keywords) -> Self:
        """From implicabilities b(A) = bel(A) + m(empty set) of the sets of the family."""
        return cls._of_values(transforms.masses_from_implicability(values, focal_sets), focal_sets, keywords)

    @classmethod
    def from_plausibility(cls, values: Any, focal_sets: FocalSets, **keywords) -> Self:
        """From unnormalised plausibilities of the sets of the family.

        A restricted family must be closed enough for them to determine the masses (the full power set always is,
        and so are singletons with the empty set); otherwise a ValueError says so.
        """
        return cls._of_values(transforms.masses_from_plausibility(values, focal_sets), focal_sets, keywords)

    @classmethod
    def from_commonality(cls, values: Any, focal_sets: FocalSets, **keywords) -> Self:
        """From commonalities of the sets of the family."""
        return cls._of_values(transforms.masses_from_commonality(values, focal_sets), focal_sets, keywords)

    @classmethod
    def _of_values(cls, masses: np.ndarray, focal_sets: FocalSets, keywords: Mapping[str, Any]) -> Self:
        """Make mass functions of masses that were computed from the argument ``values``, and name it in errors."""
        try:
            return cls(masses, focal_sets, **keywords)
        except InvalidParameterError as error:
            if error.name != "masses":
                raise
            message = f"values must be those of mass functions, but {error}"
            raise InvalidParameterError("values", message=message) from error

    @classmethod
    def from_contour(cls, contour: Any, **keywords) -> Self:
        """Consonant (nested) mass functions with the given plausibilities of the single answers, (n, c) in [0, 1]."""
        values = checked_probabilities(contour, "contour")
        return cls(
            *transforms.nested_masses(*transforms.consonant_from_contour(values)),
            **(names_of_table(contour) | keywords),
        )

    @classmethod
    def from_pignistic(cls, probabilities: Any, **keywords) -> Self:
        """Least committed mass functions whose pignistic probabilities are given, (n, c) with rows summing to one."""
        p = checked_probabilities(probabilities, "probabilities")
        if np.any(np.abs(p.sum(axis=1) - 1) > SUM_TOLERANCE):
            raise InvalidParameterError("probabilities", must="sum to one in every row")
        return cls(
            *transforms.nested_masses(*transforms.consonant_from_pignistic(p)),
            **(names_of_table(probabilities) | keywords),
        )

    @classmethod
    def from_opinions(cls, belief: Any, uncertainty: Any = None, **keywords) -> Self:
        """From multinomial opinions of subjective logic (Jøsang, 2016): m({k}) = belief of k, m(frame) = uncertainty.

        An opinion has a base rate too, which says how its uncertainty is shared when it must become probabilities:
        belief + base rate * uncertainty. A mass function has none. `pignistic` shares equally, which is the base rate
        1/c; for another one ask ``to_opinions(base_rate).probability``.

        Parameters
        ----------
        belief : array-like of shape (n, c), nonnegative
        uncertainty : array-like of shape (n,), optional
            What is missing to one by default.
        **keywords
            ``index``, ``frame``: names of the rows and of the answers; by default those of a table.

        References
        ----------
        A. Jøsang (2016). Subjective Logic: A Formalism for Reasoning Under Uncertainty. Springer.

        Examples
        --------
        >>> from dempster import MassFunctions
        >>> m = MassFunctions.from_opinions([[0.5, 0.1, 0.0]], [0.4], frame="abc")
        >>> m
        MassFunctions(1 mass function on {a,b,c})
        {a}: 0.5  {b}: 0.1  Ω: 0.4
        >>> m.to_opinions(base_rate=[0.1, 0.1, 0.8]).probability.round(2)
        array([[0.54, 0.14, 0.32]])
        """
        return cls(*opinions.masses_from_opinions(belief, uncertainty), **(names_of_table(belief) | keywords))

    @classmethod
    def from_dirichlet(cls, alpha: Any, *, prior: Any = 1.0, **keywords) -> Self:
        """From the parameters of Dirichlet distributions, as evidential networks and counting give them.

        What the data added to the prior is evidence: r = alpha - prior. With S the sum of alpha and W that of the
        prior, the opinion is b_k = r_k / S, u = W / S (Jøsang, 2016, section 3.5), and the mass function is that of
        `from_opinions`. No evidence is total ignorance, much evidence leaves little of it.

        Parameters
        ----------
        alpha : array-like of shape (n, c), at least the prior
        prior : number or array-like of shape (c,), positive, default=1
            Parameters before any evidence. 1, the uniform distribution, is what evidential deep learning takes
            (Sensoy et al., 2018); Jøsang's is 2/c. Divided by its sum it is the base rate.
        **keywords
            ``index``, ``frame``: names of the rows and of the answers; by default those of a table.

        References
        ----------
        A. Jøsang (2016). Subjective Logic: A Formalism for Reasoning Under Uncertainty. Springer.

        M. Sensoy, L. Kaplan and M. Kandemir (2018). Evidential deep learning to quantify classification uncertainty.
        Advances in Neural Information Processing Systems 31.

        Examples
        --------
        >>> from dempster import MassFunctions
        >>> m = MassFunctions.from_dirichlet([[8.0, 1.0, 1.0], [1.0, 1.0, 1.0]], frame="abc")
        >>> m.to_frame().round(2).values.tolist()  # {a}, {b}, {c}, the whole frame
        [[0.7, 0.0, 0.0, 0.3], [0.0, 0.0, 0.0, 1.0]]
        """
        names = names_of_table(alpha) | keywords
        return cls(*opinions.masses_from_dirichlet(alpha, in_order_of(prior, names["frame"])), **names)

    # ---- reading --------------------------------------------------------------------------------------------------

    @property
    def masses(self) -> Array:
        """(n, f) masses, read-only; a tensor where they were given as one."""
        return self._masses

    @property
    def n_clusters(self) -> int:
        return self.focal_sets.n_clusters

    @cached_property
    def empty(self) -> Array:
        """Mass of the empty set in each row (zeros if the family does not have it)."""
        where = self.focal_sets.empty_index
        return frozen(zeros((len(self),), self._masses) if where is None else self._masses[:, where])

    def mass(self, sets: Any = None) -> Array:
        """Masses of the given sets (0 for sets outside the family); of the family when None."""
        rows, single = self.membership_rows(sets)
        where = self.focal_sets.find(rows)
        values = self._masses[:, where] * like(where >= 0, self._masses)
        return values[:, 0] if single else values

    def membership_rows(self, sets: Any) -> tuple[np.ndarray, bool]:
        """(s, c) membership of sets given by their members or names, and whether it was a single set."""
        return membership_rows(sets, self.focal_sets, self.frame)

    def belief(self, sets: Any = None, *, normalized: bool = False) -> Array:
        """bel(A) = sum of m(B) over nonempty B inside A: what supports "the answer is in A".

        ``sets``: one set (a tuple or frozenset of answers, by name or number: the result has shape (n,)), a list of
        sets or a FocalSets (shape (n, s)), or None for the family. Names are those of `frame`.
        """
        return self._measure(lambda own, rows: inside(own, rows) & own.any(axis=1)[:, None], sets, normalized)

    def implicability(self, sets: Any = None) -> Array:
        """b(A) = bel(A) + m(empty set)."""
        return self._measure(inside, sets, False)

    def plausibility(self, sets: Any = None, *, normalized: bool = False) -> Array:
        """pl(A) = sum of m(B) over B that meet A: what does not speak against A. Arguments as in `belief`."""
        return self._measure(lambda own, rows: own.astype(float) @ rows.T > 0, sets, normalized)

    def commonality(self, sets: Any = None) -> Array:
        """q(A) = sum of m(B) over B that contain A. Arguments as in `belief`."""
        return self._measure(lambda own, rows: inside(rows, own).T, sets, False)

    @cached_property
    def contour(self) -> Array:
        """(n, c) plausibilities of the single answers."""
        return frozen(rows_times(self._masses, self.focal_sets.membership))

    @cached_property
    def singleton_belief(self) -> Array:
        """(n, c) beliefs of the single answers, which are their masses."""
        where = self.focal_sets.singleton_index
        return frozen(self._masses[:, to_device_of(where, self._masses)] * like(where >= 0, self._masses))

    def pignistic(self, *, normalized: bool = True) -> Array:
        """(n, c) probabilities: each mass is shared equally inside its set (Smets and Kennes, 1994).

        Divided by 1 - m(empty set) unless ``normalized=False``; uniform where nothing is left to share.
        """
        share = self.focal_sets.membership / np.maximum(self.focal_sets.cardinality, 1)[:, None]
        return self._per_answer(rows_times(self._masses, share), normalized)

    def plausibility_transform(self) -> Array:
        """(n, c) plausibilities of the answers rescaled to sum to one; uniform where all are zero."""
        total = self.contour.sum(axis=1, keepdims=True)
        return divided(self.contour, total, 1 / self.n_clusters)

    def conflict(self, other: MassFunctions | None = None) -> Array:
        """Degree of conflict, row by row: sum of m1(A) m2(B) over disjoint A and B; with itself when None.

        Rows correspond by their names if both have some, as in `combine`.
        """
        other = self if other is None else self._matched(other)
        disjoint = ~(self.focal_sets.membership.astype(float) @ other.focal_sets.membership.T > 0)
        return library_of(self._masses).einsum(
            "if,if->i", self._masses @ like(disjoint, self._masses), _rows_of(other, self)
        )

    def nonspecificity(self) -> Array:
        """Sum of m(A) log2 |A|, the empty set counting as the whole frame: 0 (precise) to log2 c (knows nothing)."""
        size = self.focal_sets.cardinality.astype(float)
        size[size == 0] = self.n_clusters
        return self._masses @ like(np.log2(size), self._masses)

    def distance(self, other: MassFunctions, rule: str = "jousselme") -> Array:
        """Distance to other mass functions, row by row: ``"jousselme"`` (a metric, at most 1) or ``"belief"``.

        Rows correspond by their names if both have some, as in `combine`.
        """
        check_choice(rule, "rule", ("jousselme", "belief"))
        other = self._matched(other)
        family = self.focal_sets.union(other.focal_sets)
        difference = self.on(family).masses - _rows_of(other.on(family), self)
        measure = _jousselme_distance if rule == "jousselme" else _belief_distance
        return measure(difference, family)

    # ---- operations -----------------------------------------------------------------------------------------------

    def combine(self, *others: MassFunctions, rule: str = "dempster") -> MassFunctions:
        """Combine with one or several other pieces of evidence, row by row.

        ``rule``: ``"dempster"``, ``"conjunctive"``, ``"disjunctive"``, ``"dubois_prade"``, ``"yager"``, ``"pcr6"``,
        ``"average"``, ``"cautious"`` or ``"bold"``. A single mass function combines with every row. Rules that are
        not associative (Yager, Dubois-Prade, PCR6) treat all the sources at once.

        Rows correspond by their names (`index`) if both sides have some: they must be the same, in any order (the
        first source gives it). If one side has none, rows correspond by their positions.
        """
        for other in others:
            self._check_frame(other)
        longest = max((self, *others), key=lambda m: (len(m) != 1, len(m)))
        sources = [longest._matched(m) for m in (self, *others)]
        masses, family = combine_masses([(m._masses, m.focal_sets) for m in sources], rule)
        names = next((m.index for m in sources if m.index is not None and len(m) == len(longest)), None)
        return MassFunctions.unchecked(masses, family, names, self.frame)

    def __and__(self, other: object) -> MassFunctions:
        """``a & b``: the conjunctive rule, "both are right"; what they contradict each other in is m(empty set).

        The same as ``a.combine(b, rule="conjunctive")``, with its rules for names and single rows. For the normalised
        result, Dempster's rule, write ``a.combine(b)`` or ``(a & b).normalize()``.
        """
        return self.combine(other, rule="conjunctive") if isinstance(other, MassFunctions) else NotImplemented

    def __or__(self, other: object) -> MassFunctions:
        """``a | b``: the disjunctive rule, "one of them is right": ``a.combine(b, rule="disjunctive")``."""
        return self.combine(other, rule="disjunctive") if isinstance(other, MassFunctions) else NotImplemented

    def discount(self, rate: Any, *, contexts: Any = None) -> MassFunctions:
        """Believe a source less: with probability ``rate`` it knows nothing.

        Parameters
        ----------
        rate : number, array of shape (n,), or mapping of sets to numbers, in [0, 1]
            A number, or one per row: a share 1 - rate of each mass is kept, the rest goes to the whole frame.

            A mapping ``{set: rate}``: contextual discounting. The source is unreliable to the given degree *if the
            answer is in that set*: one that mistakes helicopters for planes is believed less about helicopters only.
        contexts : "answers" or list of l sets, optional
            The same with the rates in an array of shape (c,), one for each answer of the frame, or (l,).

        Returns
        -------
        MassFunctions

        Notes
        -----
        Contextual discounting is the disjunctive combination with m_A(empty set) = 1 - rate(A), m_A(A) = rate(A) for
        every context A (Mercier, Quost and Denoeux, 2008, where the contexts are a partition of the frame; Mercier,
        Lefevre and Delmotte, 2012, where they are any sets). The plausibility of an answer k becomes

            pl'(k) = 1 - (1 - pl(k)) prod_{A holds k} (1 - rate(A)).

        The whole frame as the only context is plain discounting. `dempster.classify.ContextualDiscounting` learns the
        rates from labelled objects.

        References
        ----------
        D. Mercier, B. Quost and T. Denoeux (2008). Refined modeling of sensor reliability in the belief function
        framework using contextual discounting. Information Fusion 9.

        D. Mercier, E. Lefevre and F. Delmotte (2012). Belief functions contextual discounting and canonical
        decompositions. International Journal of Approximate Reasoning 53.

        Examples
        --------
        >>> from dempster import MassFunctions
        >>> radar = MassFunctions.from_dict({"plane": 0.5, "rocket": 0.5}, frame=["plane", "helicopter", "rocket"])
        >>> radar.discount(0.4)
        MassFunctions(1 mass function on {plane,helicopter,rocket})
        {plane}: 0.3  {rocket}: 0.3  Ω: 0.4
        >>> radar.discount({"plane": 0.4, ("helicopter", "rocket"): 0.1})
        MassFunctions(1 mass function on {plane,helicopter,rocket})
        {plane}: 0.45  {rocket}: 0.27  {plane,rocket}: 0.18  {helicopter,rocket}: 0.03  Ω: 0.07
        """
        if contexts is None and not isinstance(rate, Mapping):
            return self._like(*combination.discounted(self._masses, self.focal_sets, ordered_like(rate, self.index)))
        rate = in_order_of(rate, self.frame) if isinstance(contexts, str) else rate
        rows, rates = combination.checked_contexts(rate, contexts, self.n_clusters, self.membership_rows)
        return self._like(*combination.contextually_discounted(self._masses, self.focal_sets, rows, rates))

    def condition(self, event: Any, *, normalized: bool = True) -> MassFunctions:
        """Learn that the answer is in ``event``: each mass moves to the intersection; then Dempster normalisation."""
        check_flags(normalized=normalized)
        rows, single = membership_rows(event, self.focal_sets, self.frame, "event")
        if not single:
            raise InvalidParameterError("event", "one set of answers", event)
        certain = MassFunctions.unchecked(like(np.ones((1, 1)), self._masses), FocalSets(rows), None, self.frame)
        return self.combine(certain, rule="dempster" if normalized else "conjunctive")

    def normalize(self, rule: str = "dempster") -> MassFunctions:
        """Remove the mass of the empty set: rescale the rest (``"dempster"``) or give it to the frame (``"yager"``).

        Under Dempster a row with all its mass on the empty set becomes vacuous, with a warning.
        """
        check_choice(rule, "rule", NORMALIZATIONS)
        if self.focal_sets.empty_index is None:
            return self
        lost = int((self.empty >= 1).sum()) if rule == "dempster" else 0
        if lost:
            warnings.warn(f"{lost} mass functions had only the empty set and became vacuous", stacklevel=2)
        return self._like(*NORMALIZATIONS[rule](self._masses, self.focal_sets))

    def on(self, focal_sets: FocalSets) -> MassFunctions:
        """The same masses on another family, which must hold every set that carries mass."""
        if checked_family(focal_sets, "focal_sets") == self.focal_sets:
            return self
        if focal_sets.n_clusters != self.n_clusters:
            raise InvalidParameterError(
                "focal_sets", message=f"focal_sets has {focal_sets.n_clusters} clusters instead of {self.n_clusters}"
            )
        where = focal_sets.find(self.focal_sets.membership)
        if (self._masses[:, where < 0] > 0).any():
            raise InvalidParameterError("focal_sets", message="focal_sets lacks a set that carries mass")
        out = zeros((len(self), len(focal_sets)), self._masses)
        out[:, where[where >= 0]] = self._masses[:, where >= 0]
        return self._like(out, focal_sets)

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
            Which expected loss to minimise: pignistic, lower (optimistic), upper (pessimistic), or ``optimism``
            times the lower plus the rest times the upper. With 0-1 losses these pick the answer of largest pignistic
            probability, plausibility, belief. Interval dominance keeps every act whose smallest expected loss is not
            above the largest one of another; maximality, which keeps fewer, every act that no other beats whatever
            probability the evidence allows.
        losses : array-like of shape (c, acts) or (c + 1, acts), optional
            Loss of each act (column) when each answer (row) is true; 0-1 by default. A further row stands for an
            unknown answer, which belongs to the set that was the whole frame.
        reject : float, optional
            Loss of not deciding.
        optimism : float in [0, 1]
            For ``rule="hurwicz"``.

        Returns
        -------
        array
            (n,) number of the act, -1 for rejection; for interval dominance and maximality (n, acts) Boolean.

        Notes
        -----
        The mass of the empty set is removed by Dempster normalisation first (a row that has nothing else counts as
        knowing nothing).
        """
        known, losses = self._for_decision(), in_order_of(losses, self.frame)
        return decisions.decide(known.masses, known.focal_sets, rule, losses, reject, optimism)

    def decide_sets(
        self, tolerance: float = 0.8, *, rule: str = "pignistic", optimism: float = 0.5, max_size: int | None = None
    ) -> Array:
        """Cautious decision: the best *set* of answers for each row, (n, c) Boolean.

        ``tolerance`` in [0.5, 1] tells how acceptable imprecise but right answers are: at 0.5 a pair that holds the
        truth is worth half a precise answer, at 1 as much. ``max_size`` limits the sets looked at to that many
        answers, and the whole frame (2 when there are more than eight answers, otherwise no limit).
        """
        known = self._for_decision()
        return decisions.decide_sets(known.masses, known.focal_sets, tolerance, rule, optimism, max_size)

    def expected_losses(self, rule: str = "pignistic", *, losses: Any = None, optimism: float = 0.5) -> Array:
        """(n, acts) expected loss of each act, which `decide` minimises; arguments as there."""
        known = self._for_decision()
        table = decisions.checked_losses(in_order_of(losses, self.frame), self.n_clusters)
        return decisions.expected_losses(known.masses, known.focal_sets, table, rule, optimism)

    def _for_decision(self) -> MassFunctions:
        return self._like(*remove_empty(self._masses, self.focal_sets))

    # ---- converting and showing ------------------------------------------------------------------------------------

    def to_dense(self) -> Array:
        """(n, 2^c) masses of all sets in binary order (bit k of the position tells whether answer k is in the set)."""
        if self.n_clusters > 20:
            raise InvalidInputError(f"the power set of {self.n_clusters} answers is too large for a dense array")
        out = zeros((len(self), 1 << self.n_clusters), self._masses)
        out[:, to_device_of(self.focal_sets.codes, out)] = self._masses
        return out

    def to_frame(self, backend: str = "pandas") -> Any:
        """A table with a column for each set.

        Parameters
        ----------
        backend : {"pandas", "polars"}
            pandas keeps the names of the rows as its index. polars has none: they are a first column, "object".

        Examples
        --------
        >>> from dempster import MassFunctions
        >>> m = MassFunctions.from_dict([{"a": 1}, {"a": 0.5, "ab": 0.5}], frame="ab", index=["x", "y"])
        >>> m.to_frame()
           {a}    Ω
        x  1.0  0.0
        y  0.5  0.5
        >>> m.to_frame(backend="polars").columns
        ['object', '{a}', 'Ω']
        """
        return table(to_host(self._masses), self.focal_sets.names(self.frame), self.index, backend)

    def to_numpy(self) -> Self:
        """The same with masses in an array of NumPy, for those that are a tensor; itself if they are an array.

        Examples
        --------
        >>> from dempster import FocalSets, MassFunctions
        >>> import torch
        >>> m = MassFunctions(torch.tensor([[0.25, 0.75]]), FocalSets.from_sets(2, [(0,), (0, 1)]))
        >>> type(m.masses).__name__, type(m.to_numpy().masses).__name__
        ('Tensor', 'ndarray')
        """
        if isinstance(self._masses, np.ndarray):
            return self
        return self._selected(to_host(self._masses), self.index)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The masses: what `numpy.asarray` makes of this."""
        return np.array(to_host(self.masses), dtype=dtype, copy=copy)

    def to_opinions(self, base_rate: Any = None) -> Opinions:
        """Multinomial opinions of subjective logic, for mass functions on single answers and the whole frame.

        Parameters
        ----------
        base_rate : array-like of shape (c,), summing to one, optional
            Probabilities of the answers when nothing is known; 1/c each by default.

        Returns
        -------
        Opinions
            With ``belief``, ``uncertainty``, ``base_rate``, ``probability`` and ``to_dirichlet()``.
        """
        opinions.check_opinions(self.masses, self.focal_sets, self.frame)
        rate = opinions.read_base_rate(base_rate, self.frame, self.n_clusters)
        known = self.mass(FocalSets.simple(self.n_clusters, empty=False, omega=False))
        unknown = self.mass(FocalSets.from_sets(self.n_clusters, [range(self.n_clusters)]))[:, 0]
        return Opinions(known, unknown, rate)

    def __len__(self) -> int:
        return len(self._masses)

    def __getitem__(self, rows: Any) -> Self:
        """Some of the mass functions: a number, a slice, a Boolean mask or an array of positions."""
        if is_integer(rows):
            if not -len(self) <= rows < len(self):
                raise IndexError(f"row {rows} of {len(self)} mass functions")
            rows = [int(rows)]
        elif not isinstance(rows, slice):
            rows = checked_positions(rows, len(self))
        return self._selected(copied(self._masses[rows]), None if self.index is None else self._names()[rows])

    def __repr__(self) -> str:
        return _text(self)

    def _repr_html_(self) -> str:
        return _html_table(self, repr(self).splitlines()[0])

    # ---- inside ---------------------------------------------------------------------------------------------------

    def _like(self, masses: Array, focal_sets: FocalSets) -> MassFunctions:
        return MassFunctions.unchecked(masses, focal_sets, self.index, self.frame)

    def _names(self) -> np.ndarray:
        """(n,) names of the rows; a list of tuples, too, has one name a row."""
        if isinstance(self.index, list | tuple):
            return np.fromiter(self.index, dtype=object, count=len(self))
        return np.asarray(self.index, dtype=object)

    def _selected(self, masses: Array, index: Any) -> Self:
        return type(self).unchecked(masses, self.focal_sets, index, self.frame)

    def _measure(self, relation, sets: Any, normalized: bool) -> Array:
        check_flags(normalized=normalized)
        rows, single = self.membership_rows(sets)
        values = rows_times(self._masses, relation(self.focal_sets.membership, rows))
        if normalized:
            rest = 1 - self.empty[:, None]
            values = divided(values, rest, 0)
        return values[:, 0] if single else values

    def _per_answer(self, values: Array, normalized: bool) -> Array:
        check_flags(normalized=normalized)
        if not normalized:
            return values
        total = values.sum(axis=1, keepdims=True)  # 1 - m(empty set), to the last digit
        return divided(values, total, 1 / self.n_clusters)

    def _matched(self, other: Any) -> MassFunctions:
        """The other mass functions with the rows in our order; a single one, which goes with every row, as it is."""
        self._check_frame(other)
        in_one_place([(self._masses, self.focal_sets), (other._masses, other.focal_sets)])
        if len(other) == 1 and len(self) != 1:
            return other
        order = None if other is self or len(self) == 1 else order_of_names(other.index, self.index)
        return other if order is None else other[order]

    def _check_frame(self, other: Any) -> None:
        if not isinstance(other, MassFunctions):
            raise InvalidParameterError("other", "MassFunctions", other)
        if other.frame != self.frame:
            raise InvalidInputError(f"the frames differ: {self.frame} and {other.frame}")


def _rows_of(other: MassFunctions, ours: MassFunctions) -> Array:
    if len(other) not in (1, len(ours)):
        raise InvalidParameterError("other", must=f"hold {len(ours)} mass functions (or one), got {len(other)}")
    return library_of(other.masses).broadcast_to(other.masses, (len(ours), other.masses.shape[1]))


def _jousselme_distance(difference: Array, family: FocalSets) -> Array:
    """sqrt(d' J d / 2), d the difference of mass functions, J the Jaccard index of sets (Jousselme et al., 2001)."""
    library, jaccard = library_of(difference), like(family.jaccard, difference)
    squared = zeros((len(difference),), difference)
    for start in range(0, len(difference), _BLOCK_ROWS):
        d = difference[start : start + _BLOCK_ROWS]
        squared[start : start + _BLOCK_ROWS] = library.einsum("if,if->i", d @ jaccard, d)
    return library.sqrt(library.clip(squared / 2, 0, None))


def _belief_distance(difference: Array, family: FocalSets) -> Array:
    """Half the sum of |bel1(A) - bel2(A)| over all sets A (Denoeux, Li and Sriboonchitta, 2018).

    At most 1 on a frame of two elements only. It looks at all 2^c sets, so the frame must be small.
    """
    c = family.n_clusters
    if c > _MAX_FRAME or (len(difference) << c) > _MAX_BELIEFS:
        raise InvalidInputError(
            f"rule='belief' looks at all 2^{c} sets of {c} answers for each of {len(difference):,} rows (at most "
            f"2^{_MAX_FRAME}, and {_MAX_BELIEFS:,} in all): use rule='jousselme', or fewer rows at once"
        )
    total = zeros((len(difference),), difference)
    rows = max(1, _BLOCK_CELLS >> c)
    for start in range(0, len(difference), rows):
        d = difference[start : start + rows]
        dense = zeros((len(d), 1 << c), d)
        dense[:, to_device_of(family.codes, d)] = d
        dense[:, 0] = 0  # beliefs leave the empty set out
        total[start : start + rows] = abs(transforms.mass_to_implicability(dense)).sum(axis=1)
    return total / 2


def _text(m: MassFunctions) -> str:
    """How many there are, and the largest masses of the first."""
    names = ",".join(map(printable, m.frame)) if m.n_clusters <= _NAMED_ANSWERS else f"{m.n_clusters} answers"
    head = f"{type(m).__name__}({format_count(len(m), 'mass function')} on {{{names}}})"
    lines = [_row_text(m, i) for i in range(min(len(m), _SHOWN_LINES))]
    if len(m) > _SHOWN_LINES:
        lines.append(f"... {len(m) - _SHOWN_LINES} more")
    return "\n".join([head, *lines])


def _row_text(m: MassFunctions, i: int) -> str:
    """The largest masses of a row, ``{a}: 0.6  {a,b}: 0.4``."""
    sets = m.focal_sets.names([printable(name) for name in m.frame])
    row = to_host(m.masses[i])
    largest = [j for j in np.argsort(-row, kind="stable")[:_SHOWN_SETS] if row[j] >= 5e-4]
    text = "  ".join(f"{sets[j]}: {float(row[j]):.3g}" for j in sorted(largest))
    return text if m.index is None else f"{printable(m.index[i])}: {text}"


def _html_table(m: MassFunctions, title: str) -> str:
    """The first rows as HTML; names are escaped."""
    sets = m.focal_sets.names(m.frame)
    shown = min(len(m), _SHOWN_ROWS)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in ["", *sets])
    names = range(shown) if m.index is None else m.index[:shown]
    body = "".join(
        f"<tr><th>{html.escape(str(name))}</th>" + "".join(_cell(float(v)) for v in row) + "</tr>"
        for name, row in zip(names, m.masses[:shown], strict=True)
    )
    more = f"<p>{len(m) - shown} more rows</p>" if len(m) > shown else ""
    heading = f"<p>{html.escape(title)}</p>"
    return f"<div>{heading}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}</div>"


def _cell(value: float) -> str:
    # darker for larger masses, so that a table reads like a picture
    shade = f' style="background: rgba(31, 119, 180, {0.6 * value:.2f})"' if value >= 5e-3 else ""
    return f"<td{shade}>{value:.3f}</td>" if value >= 5e-4 else "<td></td>"
