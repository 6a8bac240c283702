"""n mass functions on one frame, and everything the calculus does with them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from dempster._arrays import Array, divided, frozen, library_of, like, rows_times, same_place, zeros
from dempster._errors import InvalidInputError
from dempster._validation import check_choice, check_flags, in_order_of, order_of_names, ordered_like, shown
from dempster.belief import combination as discounting
from dempster.belief import decisions, measures, rendering
from dempster.belief._arguments import membership_rows
from dempster.belief.combination import NORMALIZATIONS, combine_masses, in_one_place, remove_empty
from dempster.belief.focal_sets import FocalSets, checked_family, inside
from dempster.belief.made_masses import MadeMasses

__all__ = ["MassFunctions"]


class MassFunctions(MadeMasses):
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

    def _like(self, masses: Array, focal_sets: FocalSets) -> MassFunctions:
        return MassFunctions.unchecked(masses, focal_sets, self.index, self.frame)

    # ---- reading --------------------------------------------------------------------------------------------------

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
        return frozen(self._masses[:, same_place(where, self._masses)] * like(where >= 0, self._masses))

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
        return measures.nonspecificity(self._masses, self.focal_sets)

    def distance(self, other: MassFunctions, rule: str = "jousselme") -> Array:
        """Distance to other mass functions, row by row: ``"jousselme"`` (a metric, at most 1) or ``"belief"``.

        Rows correspond by their names if both have some, as in `combine`.
        """
        check_choice(rule, "rule", ("jousselme", "belief"))
        other = self._matched(other)
        family = self.focal_sets.union(other.focal_sets)
        difference = self.on(family).masses - _rows_of(other.on(family), self)
        measure = measures.jousselme_distance if rule == "jousselme" else measures.belief_distance
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
            return self._like(*discounting.discounted(self._masses, self.focal_sets, ordered_like(rate, self.index)))
        rate = in_order_of(rate, self.frame) if isinstance(contexts, str) else rate
        rows, rates = discounting.checked_contexts(rate, contexts, self.n_clusters, self.membership_rows)
        return self._like(*discounting.contextually_discounted(self._masses, self.focal_sets, rows, rates))

    def condition(self, event: Any, *, normalized: bool = True) -> MassFunctions:
        """Learn that the answer is in ``event``: each mass moves to the intersection; then Dempster normalisation."""
        check_flags(normalized=normalized)
        rows, single = membership_rows(event, self.focal_sets, self.frame, "event")
        if not single:
            raise InvalidInputError(f"event must be one set of answers, got {shown(event)}")
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
            raise InvalidInputError(f"focal_sets has {focal_sets.n_clusters} clusters instead of {self.n_clusters}")
        where = focal_sets.find(self.focal_sets.membership)
        if (self._masses[:, where < 0] > 0).any():
            raise InvalidInputError("focal_sets lacks a set that carries mass")
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

    # ---- showing --------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return rendering.text(self)

    def _repr_html_(self) -> str:
        return rendering.html_table(self, repr(self).splitlines()[0])

    # ---- inside ---------------------------------------------------------------------------------------------------

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
            raise InvalidInputError(f"other must be MassFunctions, got {type(other).__name__}")
        if other.frame != self.frame:
            raise InvalidInputError(f"the frames differ: {self.frame} and {other.frame}")


def _rows_of(other: MassFunctions, ours: MassFunctions) -> Array:
    if len(other) not in (1, len(ours)):
        raise InvalidInputError(f"other must hold {len(ours)} mass functions (or one), got {len(other)}")
    return library_of(other.masses).broadcast_to(other.masses, (len(ours), other.masses.shape[1]))
