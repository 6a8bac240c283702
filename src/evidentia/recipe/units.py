"""What is said of standardised numbers, said in the units of the table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evidentia.explain import ObjectExplanation
    from evidentia.recipe.attributes import Preparation

__all__ = ["explanation_in_units"]


def explanation_in_units(explanation: ObjectExplanation, preparation: Preparation) -> ObjectExplanation:
    """The same explanation with the values of attributes as the table has them; pulls stay as they are."""
    scales = zip(preparation.center, preparation.scale, strict=True)
    known = dict(zip(preparation.numbers, scales, strict=True))

    def turned(names: tuple[str, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            value * known[name][1] + known[name][0] if name in known and isinstance(value, float) else value
            for name, value in zip(names, values, strict=True)
        )

    if explanation.by != "attributes" or not preparation.is_scaled:
        return explanation
    names = explanation.attributes
    return replace(
        explanation,
        values=None if explanation.values is None else turned(names, explanation.values),
        typical=None if explanation.typical is None else tuple(turned(names, one) for one in explanation.typical),
        changes=tuple(
            replace(one, before=turned(one.attributes, one.before), after=turned(one.attributes, one.after))
            for one in explanation.changes
        ),
    )
