"""Mass functions made of other things: dictionaries, beliefs, plausibilities, probabilities, opinions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import in_order_of, listed, names_of_table, shown
from dempster.belief import opinions, transforms
from dempster.belief import transforms as inverse
from dempster.belief._arguments import SUM_TOLERANCE, checked_frame, checked_probabilities, positions
from dempster.belief.focal_sets import FocalSets, checked_family
from dempster.belief.mass_table import MassTable
from dempster.belief.opinions import Opinions

__all__ = ["MadeMasses"]


class MadeMasses(MassTable):
    """The ways to make `MassFunctions` that are not a table of masses; its base."""

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
            raise InvalidInputError(
                f"masses must hold at least one dictionary {{set: mass}} and nothing else, got {shown(masses)}"
            )
        sets = [{positions(key, names, "masses"): value for key, value in row.items()} for row in rows]
        for row, given in zip(sets, rows, strict=True):
            if len(row) < len(given):
                raise InvalidInputError(f"masses names the same set twice: {list(given)}")
        used = sorted({s for row in sets for s in row}, key=lambda s: (len(s), s))
        family = FocalSets.from_sets(len(names), used)
        return cls([[row.get(s, 0.0) for s in used] for row in sets], family, index, frame=names)

    @classmethod
    def from_belief(cls, values: Any, focal_sets: FocalSets, **keywords) -> Self:
        """From unnormalised beliefs of the sets of the family (which must hold all focal sets and the whole frame)."""
        values = inverse.table_of_values(values, checked_family(focal_sets, "focal_sets"))
        if focal_sets.omega_index is None:
            raise InvalidInputError("focal_sets must hold the whole frame: m(∅) = 1 - bel(whole frame)")
        empty = 1 - values[:, [focal_sets.omega_index]]
        return cls.from_implicability(values + empty, focal_sets, **keywords)

    @classmethod
    def from_implicability(cls, values: Any, focal_sets: FocalSets, **keywords) -> Self:
        """From implicabilities b(A) = bel(A) + m(empty set) of the sets of the family."""
        return cls._of_values(inverse.from_implicability(values, focal_sets), focal_sets, keywords)

    @classmethod
    def from_plausibility(cls, values: Any, focal_sets: FocalSets, **keywords) -> Self:
        """From unnormalised plausibilities of the sets of the family.

        A restricted family must be closed enough for them to determine the masses (the full power set always is,
        and so are singletons with the empty set); otherwise a ValueError says so.
        """
        return cls._of_values(inverse.from_plausibility(values, focal_sets), focal_sets, keywords)

    @classmethod
    def from_commonality(cls, values: Any, focal_sets: FocalSets, **keywords) -> Self:
        """From commonalities of the sets of the family."""
        return cls._of_values(inverse.from_commonality(values, focal_sets), focal_sets, keywords)

    @classmethod
    def _of_values(cls, masses: np.ndarray, focal_sets: FocalSets, keywords: Mapping[str, Any]) -> Self:
        """Masses that were calculated from the argument ``values``, which is what is wrong where they are none."""
        try:
            return cls(masses, focal_sets, **keywords)
        except ValueError as error:
            if not str(error).startswith("masses"):
                raise
            raise InvalidInputError(f"values must be those of mass functions, but {error}") from error

    @classmethod
    def from_contour(cls, contour: Any, **keywords) -> Self:
        """Consonant (nested) mass functions with the given plausibilities of the single answers, (n, c) in [0, 1]."""
        values = checked_probabilities(contour, "contour")
        return cls(*inverse.nested(*transforms.consonant_from_contour(values)), **(names_of_table(contour) | keywords))

    @classmethod
    def from_pignistic(cls, probabilities: Any, **keywords) -> Self:
        """Least committed mass functions whose pignistic probabilities are given, (n, c) with rows summing to one."""
        p = checked_probabilities(probabilities, "probabilities")
        if np.any(np.abs(p.sum(axis=1) - 1) > SUM_TOLERANCE):
            raise InvalidInputError("probabilities must sum to one in every row")
        return cls(
            *inverse.nested(*transforms.consonant_from_pignistic(p)), **(names_of_table(probabilities) | keywords)
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
        return opinions.opinions_of(self, base_rate)
