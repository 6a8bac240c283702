"""Mass functions on coarser and finer frames, and on products of frames.

A frame is refined if each of its answers is divided into several answers of a finer frame; the
reverse operation is coarsening (Shafer, 1976, chapter 6). Both are described by an array,
``coarse``, with the index of the coarse answer that contains each fine answer. A product of frames
refines each of its components. Vacuous extension is therefore a refinement, and marginalization is
a coarsening.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from dempster._arrays import Array, is_sparse, is_tensor, to_device_of, zeros
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import as_list, is_integer
from dempster.belief import transforms
from dempster.belief._arguments import set_rows, validate_frame
from dempster.belief.focal_sets import FocalSets, unique_sets

_MAX_ANSWERS = 1 << 16  # Maximum number of answers of a product of frames.

Frame = tuple[Hashable, ...]


def merge_sets(masses: Array, rows: np.ndarray) -> tuple[Array, FocalSets]:
    """Add the masses of equal sets; row j of ``rows`` is the set of column j of the masses."""
    unique, target = unique_sets(rows)
    if is_tensor(masses):
        total = zeros((len(masses), len(unique)), masses).index_add(
            1, to_device_of(target, masses), masses
        )
    elif is_sparse(masses):
        n_sets = len(target)
        places = np.arange(n_sets), target
        ones = np.ones(n_sets, masses.dtype)
        total = masses @ type(masses)((ones, places), shape=(n_sets, len(unique)))
    else:
        order = np.argsort(target, kind="stable")
        first = np.flatnonzero(np.diff(target[order], prepend=-1))
        total = np.add.reduceat(masses[:, order], first, axis=1)
    return transforms.sort_sets(total, unique)


def coarsen(
    masses: Array, family: FocalSets, coarse: np.ndarray
) -> tuple[Array, FocalSets]:
    """Move the mass of each set to the set of the coarse answers that intersect it."""
    indicators = np.arange(coarse.max() + 1) == coarse[:, None]
    return merge_sets(masses, family.membership.astype(float) @ indicators > 0)


def refine(family: FocalSets, coarse: np.ndarray) -> FocalSets:
    """Replace the answers of each set by the fine answers that they contain."""
    return FocalSets(family.membership[:, coarse])


def parse_coarsening(parts: Any, frame: Frame) -> tuple[np.ndarray, Frame]:
    """Return the index of the part that contains each answer, and the names of the parts."""
    names = _validate_parts(parts)
    rows = set_rows([parts[name] for name in names], frame, "parts")
    if (rows.sum(axis=0) != 1).any() or not rows.any(axis=1).all():
        raise InvalidParameterError(
            "parts",
            must="contain each answer of the frame in exactly one set",
            value=parts,
        )
    return rows.argmax(axis=0), names


def parse_refinement(parts: Any, frame: Frame) -> tuple[np.ndarray, Frame]:
    """Return the index of the answer that contains each fine answer, and the fine answers."""
    if set(_validate_parts(parts)) != set(frame):
        raise InvalidParameterError(
            "parts", must=f"divide each answer of the frame {frame}", value=parts
        )
    fine = [
        as_list(parts[name], "parts", "a list of answers for each answer")
        for name in frame
    ]
    if not all(fine):
        raise InvalidParameterError(
            "parts", must="divide each answer into at least one answer", value=parts
        )
    names = validate_frame([name for part in fine for name in part], argument="parts")
    return np.repeat(np.arange(len(frame)), [len(part) for part in fine]), names


def _validate_parts(parts: Any) -> Frame:
    if not isinstance(parts, Mapping) or not parts:
        raise InvalidParameterError(
            "parts", "a mapping of answers to sets of finer answers", parts
        )
    return tuple(parts)


def project(frame: Frame, component: Any) -> tuple[np.ndarray, Frame]:
    """Return the index of the projection of each answer to components, and the projections."""
    sizes = {len(name) if isinstance(name, tuple) else 0 for name in frame}
    if len(sizes) > 1 or sizes == {0}:
        raise InvalidInputError(
            "marginalize needs a product of frames, whose answers are tuples of the same length"
        )
    projected = _components(frame, _validate_component(component, sizes.pop()))
    names = tuple(dict.fromkeys(projected))
    return _index(projected, names), names


def extend(frame: Frame, frames: Any, component: Any) -> tuple[np.ndarray, Frame]:
    """Return the index of the projection of each answer of a product of frames, and the answers."""
    factors = [
        validate_frame(factor, argument="frames")
        for factor in as_list(frames, "frames", "frames")
    ]
    which = _validate_component(component, len(factors))
    n_answers = prod(map(len, factors))
    if n_answers > _MAX_ANSWERS:
        raise InvalidParameterError(
            "frames",
            must=f"have a product of at most {_MAX_ANSWERS:,} answers, got {n_answers:,}",
        )
    names = tuple(product(*factors))
    projected = _components(names, which)
    if set(projected) != set(frame):
        raise InvalidParameterError(
            "frames",
            must=f"contain the frame {frame} at the position component={component}",
            value=frames,
        )
    return _index(projected, frame), names


def _components(names: Iterable[Any], which: Sequence[int]) -> list[Hashable]:
    if len(which) == 1:
        return [name[which[0]] for name in names]
    return [tuple(name[k] for k in which) for name in names]


def _index(projected: Iterable[Hashable], names: Frame) -> np.ndarray:
    where = {name: k for k, name in enumerate(names)}
    return np.array([where[name] for name in projected], np.intp)


def _validate_component(component: Any, n_components: int) -> list[int]:
    if is_integer(component):
        which = [component]
    else:
        which = as_list(component, "component", "indices of components")
    is_valid = all(is_integer(k) and 0 <= k < n_components for k in which)
    if not which or not is_valid or len(set(which)) < len(which):
        raise InvalidParameterError(
            "component",
            f"an integer from 0 to {n_components - 1}, or a list of different ones",
            component,
        )
    return which
