"""The limits are in `tests.limits`; this name is for the files still in this folder."""

from tests.limits import by_thirds, limited, refused_or_sensible, third_of

__all__ = ["by_thirds", "limited", "refused_or_sensible", "third_of"]
