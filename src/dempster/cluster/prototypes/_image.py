"""Images as objects: pixels in a row, and what their neighbours say."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from dempster._errors import InvalidInputError
from dempster._scale import as_reals, check_size, mean_of_rows
from dempster._types import ArrayLike

__all__ = ["as_pixels", "grid_shape", "neighborhood", "smoothed"]


_MOST_NEIGHBORS = 10_000_000_000  # of all pixels together, some ten seconds


def as_pixels(image: ArrayLike, channel_axis: int | None) -> tuple[np.ndarray, tuple[int, ...]]:
    """(n, channels) finite float array of the pixels in C order, and the shape of the grid of two or three axes."""
    array = as_reals(image, "X")
    axes = max(array.ndim, 3)  # an image without one for its channels is as if it had it
    if channel_axis is not None and not -axes <= channel_axis < axes:
        raise InvalidInputError(f"channel_axis={channel_axis} is none of the {array.ndim} axes of X")
    has_channels = array.ndim > 2
    array = array[..., None] if channel_axis is None or not has_channels else np.moveaxis(array, channel_axis, -1)
    if array.ndim not in (3, 4):
        raise InvalidInputError(
            "X must be an image of shape (h, w) or (h, w, channels) or a volume of shape (h, w, d, channels), "
            f"got shape {np.shape(image)}" + (" with channel_axis=None" if channel_axis is None else "")
        )
    if array.size == 0:
        raise InvalidInputError(f"X must hold at least one pixel and one channel, got shape {np.shape(image)}")
    pixels = np.ascontiguousarray(array).reshape(-1, array.shape[-1])
    if not np.isfinite(pixels).all():
        raise InvalidInputError("X must be an image of finite numbers; it contains NaN or infinity")
    check_size(pixels, "X")
    return pixels, array.shape[:-1]


def grid_shape(shape: tuple[int, ...], channel_axis: int | None) -> tuple[int, ...]:
    """Shape of an image without its channels."""
    if channel_axis is None or len(shape) == 2:
        return shape
    axis = channel_axis % len(shape)
    return shape[:axis] + shape[axis + 1 :]


def neighborhood(shape: Sequence[int], radius: int, weighting: str, spacing: Sequence[float] | None) -> np.ndarray:
    """Weights of the neighbours of a pixel: a cube of side 2 radius + 1, zero in the middle.

    A radius beyond the image reaches no more of it.
    """
    n_axes, radius = len(shape), min(int(radius), max(max(shape) - 1, 1))
    work = (2 * radius + 1) ** n_axes * int(np.prod(shape))
    if work > _MOST_NEIGHBORS:
        raise InvalidInputError(
            f"radius={radius} gives {(2 * radius + 1) ** n_axes - 1:,} neighbours to each of {int(np.prod(shape)):,} "
            f"pixels, more than {_MOST_NEIGHBORS:,} in all: set a smaller radius"
        )
    step = np.ones(n_axes) if spacing is None else as_reals(spacing, "spacing").astype(float, copy=False)
    if step.shape != (n_axes,) or not (np.isfinite(step).all() and (step > 0).all()):
        raise InvalidInputError(
            f"spacing must hold {n_axes} positive numbers, one for each axis of the image, got {spacing}"
        )
    reach = range(-radius, radius + 1)
    distance = np.array([np.hypot.reduce(step * place) for place in product(reach, repeat=n_axes)])
    distance = distance.reshape((len(reach),) * n_axes)
    # measured from the nearest neighbour: only ratios matter, and fine or coarse grids must not vanish
    nearest = step.min()
    weights = np.exp(1 - distance / nearest) if weighting == "distance" else np.ones_like(distance)
    weights[(radius,) * n_axes] = 0
    return weights


def smoothed(pixels: np.ndarray, shape: tuple[int, ...], weights: np.ndarray, smoothing: float) -> np.ndarray:
    """(n, channels + 1): mean of each pixel and its neighbours, and the root of their mean squared distance to it.

    The pixel counts for 1 - smoothing and its neighbours for the rest (for nothing where there are none). With these,
    the mean squared distance of pixel and neighbours to any point v is the squared distance of the first columns to v
    plus the square of the last.
    """
    from scipy.ndimage import convolve

    middle = mean_of_rows(pixels).astype(pixels.dtype)  # squares of large numbers lose digits
    grid = (pixels - middle).reshape(*shape, -1)
    present = convolve(np.ones(shape, dtype=pixels.dtype), weights.astype(pixels.dtype), mode="constant")
    share = np.where(present > 0, smoothing / np.where(present > 0, present, 1), 0).astype(pixels.dtype)
    own = np.where(present > 0, 1 - smoothing, 1).astype(pixels.dtype)

    def average(values: np.ndarray) -> np.ndarray:
        return own * values + share * convolve(values, weights.astype(values.dtype), mode="constant")

    out = np.empty((len(pixels), pixels.shape[1] + 1), dtype=pixels.dtype)
    square = average(np.einsum("...d,...d->...", grid, grid))
    for d in range(grid.shape[-1]):
        mean = average(np.ascontiguousarray(grid[..., d]))
        square -= mean * mean
        out[:, d] = mean.ravel() + middle[d]
    out[:, -1] = np.sqrt(np.maximum(square, 0)).ravel()
    return out
