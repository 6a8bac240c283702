"""What is said of standardised numbers, said in the units of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dempster.apps.recipe.attributes import Preparation
    from dempster.explain import ObjectExplanation

__all__ = ["Units"]


@dataclass(frozen=True)
class Units:
    """For columns that were shifted and scaled: ``own = shift + factor * scaled``, by the names of the columns."""

    shift: dict[str, float]
    factor: dict[str, float]

    @classmethod
    def of(cls, preparation: Preparation) -> Units:
        """Those of the columns that a preparation standardises."""
        if not preparation.is_scaled:
            return cls({}, {})
        names = preparation.numbers
        return cls(
            dict(zip(names, map(float, preparation.center), strict=True)),
            dict(zip(names, map(float, preparation.scale), strict=True)),
        )

    def own(self, name: str, value: Any) -> Any:
        """A value of a column in its own unit; what is no number, or of another column, as it is."""
        if name not in self.shift or not isinstance(value, float | int) or isinstance(value, bool):
            return value
        return self.shift[name] + self.factor[name] * value

    def of_explanation(self, found: ObjectExplanation) -> ObjectExplanation:
        """The same explanation with the values of attributes in their own units; pulls stay as they are."""
        if found.by != "attributes" or not self.shift:
            return found

        def row(names: Sequence[str], cells: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(self.own(name, cell) for name, cell in zip(names, cells, strict=True))

        names = found.attributes
        return replace(
            found,
            values=None if found.values is None else row(names, found.values),
            typical=None if found.typical is None else tuple(row(names, cells) for cells in found.typical),
            changes=tuple(
                replace(one, before=row(one.attributes, one.before), after=row(one.attributes, one.after))
                for one in found.changes
            ),
        )
