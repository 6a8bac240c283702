"""Opinions of subjective logic and Dirichlet distributions as mass functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import as_reals, convert_fields, reorder_by_names
from dempster.belief._arguments import SUM_TOLERANCE
from dempster.belief.focal_sets import FocalSets

_SINGLE_TOLERANCE = 1e-5  # Tolerance for sums in single precision.


@dataclass(frozen=True, eq=False)
class Opinions:
    """Multinomial opinions of subjective logic (Jøsang, 2016).

    `MassFunctions.to_opinions` returns them, and `MassFunctions.from_opinions` converts them to
    mass functions.

    Attributes
    ----------
    belief : (n, c) array
        Beliefs in the single answers.
    uncertainty : (n,) array
        Uncertainty of each opinion; the beliefs and the uncertainty sum to one in each row.
    base_rate : (c,) array
        Prior probabilities of the answers.

    Examples
    --------
    >>> from dempster import MassFunctions
    >>> opinions = MassFunctions.from_dirichlet([[8.0, 1.0, 1.0]]).to_opinions()
    >>> opinions.belief.round(2), opinions.uncertainty.round(2)
    (array([[0.7, 0. , 0. ]]), array([0.3]))
    """

    belief: Annotated[np.ndarray, "n c"]
    uncertainty: Annotated[np.ndarray, "n"]
    base_rate: Annotated[np.ndarray, "c"]

    def __post_init__(self) -> None:
        convert_fields(self, belief="nc", uncertainty="n", base_rate="c")
        for name, total in (
            ("belief and uncertainty", self.belief.sum(axis=1) + self.uncertainty),
            ("base_rate", self.base_rate.sum(keepdims=True)),
        ):
            if (np.abs(total - 1) > _SINGLE_TOLERANCE).any():
                raise InvalidParameterError(
                    name,
                    must=f"sum to one, got {total[np.abs(total - 1).argmax()]:.6g}",
                )
        if any(
            (part < -_SINGLE_TOLERANCE).any()
            for part in (self.belief, self.uncertainty, self.base_rate)
        ):
            raise InvalidInputError(
                "belief, uncertainty and base_rate must not be negative"
            )

    @property
    def probability(self) -> np.ndarray:
        """Probabilities belief + base rate * uncertainty (means of the Dirichlet distributions)."""
        return self.belief + self.uncertainty[:, None] * self.base_rate

    def __len__(self) -> int:
        return len(self.belief)

    def __repr__(self) -> str:
        n, c = self.belief.shape
        mean = self.uncertainty.mean() if n else 0
        return f"Opinions({n} on {c} answers, mean uncertainty {mean:.3f})"


def masses_from_opinions(
    belief: Any, uncertainty: Any = None
) -> tuple[np.ndarray, FocalSets]:
    """Return the masses of the single answers (beliefs) and of the frame, and their focal sets."""
    beliefs = _table(belief, "belief")
    if uncertainty is None:
        uncertainties = 1 - beliefs.sum(axis=1)
        if (uncertainties < -_tolerance(beliefs)).any():
            row = int(uncertainties.argmin())
            raise InvalidParameterError(
                "belief",
                must="sum to at most one in every row; "
                f"row {row} sums to {1 - uncertainties[row]:.6g}",
            )
        uncertainties = np.maximum(uncertainties, 0)
    else:
        uncertainties = as_reals(uncertainty, "uncertainty")
        if (
            uncertainties.shape != (len(beliefs),)
            or not (np.isfinite(uncertainties) & (uncertainties >= 0)).all()
        ):
            raise InvalidParameterError(
                "uncertainty",
                must=f"contain {len(beliefs)} nonnegative numbers, got shape {uncertainties.shape}",
            )
        total = beliefs.sum(axis=1) + uncertainties
        if (np.abs(total - 1) > _tolerance(beliefs)).any():
            row = int(np.abs(total - 1).argmax())
            raise InvalidInputError(
                "belief and uncertainty must sum to one in every row; "
                f"row {row} sums to {total[row]:.6g}"
            )
    return _on_singletons_and_frame(beliefs, uncertainties)


def masses_from_dirichlet(alpha: Any, prior: Any) -> tuple[np.ndarray, FocalSets]:
    """Return the masses and focal sets for Dirichlet parameters.

    See `MassFunctions.from_dirichlet`.
    """
    parameters = _table(alpha, "alpha")
    c = parameters.shape[1]
    before = as_reals(prior, "prior")
    if before.shape not in ((), (c,)) or not (np.isfinite(before) & (before > 0)).all():
        raise InvalidParameterError(
            "prior", f"a positive number, or {c} positive numbers", prior
        )
    before = np.broadcast_to(before, (c,)).astype(parameters.dtype)
    evidence = parameters - before
    short = evidence < -_tolerance(parameters) * before
    if short.any():
        row, k = np.unravel_index(short.argmax(), short.shape)
        raise InvalidParameterError(
            "alpha",
            must=f"be at least the prior ({before[k]:g}), got {parameters[row, k]:.6g} in row "
            f"{row}, column {k}; if alpha contains evidence alone, add the prior to it",
        )
    evidence = np.maximum(evidence, 0)
    weight = before.sum()
    total = (evidence.sum(axis=1) + weight)[:, None]
    return _on_singletons_and_frame(evidence / total, weight / total[:, 0])


def check_opinions(masses: np.ndarray, family: FocalSets, frame: Any) -> None:
    """Raise an error if sets other than the single answers and the whole frame have mass."""
    c = family.n_clusters
    if c == 1:
        raise InvalidInputError(
            "opinions need a frame of at least two answers, got one"
        )
    others = np.flatnonzero((family.cardinality != 1) & (family.cardinality != c))
    has_mass = (masses[:, others] > 0).any(axis=0)
    if has_mass.any():
        name = family.names(frame)[others[has_mass.argmax()]]
        raise InvalidInputError(
            "multinomial opinions have mass only on single answers and the whole frame, but "
            f"{name} has mass; MassFunctions.from_opinions(m.singleton_belief) has the same "
            "beliefs of the single answers"
        )


def validate_base_rate(base_rate: Any, frame: Any, n_answers: int) -> np.ndarray:
    """Return the validated prior probabilities of the answers, by default 1 / n_answers."""
    if base_rate is None:
        return np.full(n_answers, 1 / n_answers)
    rate = as_reals(reorder_by_names(base_rate, frame), "base_rate")
    if (
        rate.shape != (n_answers,)
        or not (rate >= 0).all()
        or abs(rate.sum() - 1) > SUM_TOLERANCE
    ):
        raise InvalidParameterError(
            "base_rate",
            must=f"contain {n_answers} probabilities that sum to one",
            value=base_rate,
        )
    return rate


def _table(values: Any, name: str) -> np.ndarray:
    array = np.atleast_2d(as_reals(values, name))
    if (
        array.ndim != 2
        or array.shape[1] < 2
        or not (np.isfinite(array) & (array >= 0)).all()
    ):
        raise InvalidParameterError(
            name,
            must="be a table (n, c) of finite nonnegative numbers for at least two answers, got "
            f"shape {array.shape}",
        )
    return array


def _tolerance(values: np.ndarray) -> float:
    if values.dtype == np.float32:
        return _SINGLE_TOLERANCE
    return SUM_TOLERANCE


def _on_singletons_and_frame(
    beliefs: np.ndarray, uncertainties: np.ndarray
) -> tuple[np.ndarray, FocalSets]:
    family = FocalSets.simple(beliefs.shape[1], empty=False)
    return np.column_stack([beliefs, uncertainties.astype(beliefs.dtype)]), family
