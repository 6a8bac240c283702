"""Operations for NumPy arrays, torch tensors and compressed rows (SciPy sparse arrays).

The result of a computation on a tensor is a tensor on the same device, as with the array API
support of scikit-learn. Constant tables (such as the membership of clusters in focal sets) are
NumPy arrays, which `cast_like` moves to the device of the data. This module does not import torch,
because torch is already loaded if the input is a tensor.
"""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np

_ROWS_PER_BLOCK = 512
_BLOCK_CELLS = 1 << 20  # number of values in a block of rows
_PIECE_BYTES = 1 << 26  # number of bytes copied from a GPU at once
_WIDE = 512  # number of values of a row that makes a reduction fast
# If the ratio of distance from zero to range is larger, squares lose most digits of the
# differences.
_FAR = 2.0**16

Array: TypeAlias = Any
"""NumPy array or torch tensor; masses may also be a SciPy sparse array of compressed rows."""


def is_tensor(values: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def is_sparse(values: Any) -> bool:
    """Return whether masses are stored as compressed rows, without importing SciPy."""
    return hasattr(values, "indptr")


def is_network(obj: Any) -> bool:
    """Return whether an object is a torch module, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(obj, torch.nn.Module)


def is_graph(obj: Any) -> bool:
    """Return whether an object is a graph of networkx or igraph, without importing them."""
    networkx = getattr(sys.modules.get("networkx"), "Graph", ())
    igraph = getattr(sys.modules.get("igraph"), "Graph", ())
    return isinstance(obj, (networkx, igraph))


def module_of(values: Any) -> str:
    """Return the name of the top-level package that defines the type of a value."""
    return str(type(values).__module__ or "").split(".")[0]


def is_followed(X: Any) -> bool:
    """Return whether estimators compute with torch on the device of X.

    This is the case for tensors on a GPU, and for tensors in main memory if ``array_api_dispatch``
    of scikit-learn is enabled. Otherwise scikit-learn converts a tensor in main memory to a NumPy
    array.
    """
    if not is_tensor(X):
        return False
    if X.device.type != "cpu":
        return True
    from sklearn import get_config

    return bool(get_config()["array_api_dispatch"])


def library_of(values: Array) -> Any:
    """Return the module torch for a tensor, and NumPy for anything else."""
    if is_tensor(values):
        return sys.modules["torch"]
    return np


def precision_of(values: Array) -> np.dtype:
    if is_tensor(values):
        return np.dtype(str(values.dtype).removeprefix("torch."))
    return values.dtype


def as_array(values: Any) -> Array:
    """Return a tensor unchanged and anything else as a NumPy array."""
    if is_tensor(values):
        return values
    return np.asarray(values)


def to_array_with_shape(values: Any) -> Any:
    """Convert objects with an array interface but no shape, such as Pillow images, to arrays."""
    if hasattr(values, "__array_interface__") and not hasattr(values, "shape"):
        return np.asarray(values)
    return values


def decompress(values: Array) -> Array:
    """Return compressed rows as a NumPy array, and anything else unchanged."""
    if is_sparse(values):
        return values.toarray()
    return values


def to_host(values: Array) -> np.ndarray:
    """Return a tensor or compressed rows as a NumPy array, and anything else unchanged."""
    if not is_tensor(values):
        return decompress(values)
    held = values.detach()
    if held.is_cuda and held.nbytes > _PIECE_BYTES:
        held = copy_from_gpu(held, held.new_empty(held.shape, device="cpu"))
    held = held.cpu().resolve_conj().resolve_neg()
    try:
        return held.numpy()
    except TypeError:  # NumPy does not support some types of torch, e.g. bfloat16.
        return held.float().numpy()


def copy_from_gpu(block: Any, target: Any) -> Any:
    """Copy a tensor from the GPU to ``target`` through two page-locked buffers.

    The GPU fills one buffer while all CPU cores copy the other one to ``target``. A direct copy
    would use a single core and would be slow, because each page of newly allocated memory must be
    mapped at its first use.
    """
    torch = library_of(block)
    row_bytes = block[:1].nelement() * target.element_size()
    size = max(1, _PIECE_BYTES // max(1, row_bytes))
    starts = range(0, len(block), size)
    piece = target[:size]
    pieces = [torch.empty_like(piece, pin_memory=True) for _ in starts[:2]]
    filled = [torch.cuda.Event() for _ in pieces]

    def fill(number: int) -> None:
        rows = block[number * size : (number + 1) * size]
        pieces[number % 2][: len(rows)].copy_(rows, non_blocking=True)
        filled[number % 2].record(torch.cuda.current_stream(block.device))

    fill(0)
    for number, start in enumerate(starts):
        if number + 1 < len(starts):
            fill(number + 1)
        filled[number % 2].synchronize()
        rows = target[start : start + size]
        rows.copy_(pieces[number % 2][: len(rows)])
    return target


def to_device_of(values: Array, other: Array) -> Array:
    """Move values to the device of another array without changing their precision.

    Compressed rows stay in main memory.
    """
    if not is_tensor(other) or is_sparse(values):
        return values
    if is_tensor(values):
        return values.to(other.device)
    if not values.flags.writeable:  # Torch warns about read-only arrays.
        values = values.copy()
    ordered = np.ascontiguousarray(values)
    return library_of(other).as_tensor(ordered, device=other.device)


def cast_like(values: np.ndarray, other: Array) -> Array:
    """Cast values to the precision of another array and move them to its device."""
    return to_device_of(values.astype(precision_of(other)), other)


def zeros(shape: tuple[int, ...], other: Array) -> Array:
    """Return an array of zeros with the precision and device of another array."""
    if is_tensor(other):
        return other.new_zeros(shape)
    return np.zeros(shape, other.dtype)


def copy_array(values: Array) -> Array:
    if is_tensor(values):
        return values.clone()
    if is_sparse(values):
        return values.copy()
    return values.copy(order="K")


def freeze(array: Array) -> Array:
    if isinstance(array, np.ndarray):
        array.flags.writeable = False
    return array


def set_frozen_state(owner: Any, state: dict[str, Any]) -> None:
    """Restore the attributes of a copied or unpickled object, whose arrays became writable."""
    vars(owner).update(state)
    for value in state.values():
        freeze(value)


def divide(values: Array, by: Array, otherwise: Array | float) -> Array:
    """Return ``values / by`` where ``by`` is positive, and ``otherwise`` elsewhere.

    Compressed rows are divided by a column, shape (n, 1), and ``otherwise`` is zero.
    """
    if is_sparse(values):
        quotients = divide(values.data, _repeat_rows(values, by), 0)
        return _with_data(values, quotients)
    positive = by > 0
    if is_tensor(values):
        torch = library_of(values)
        divisor = torch.where(positive, by, 1)
        return torch.where(positive, values / divisor, otherwise)
    dtype = np.result_type(values, np.float32)
    out = np.full_like(values, otherwise, dtype)
    return np.divide(values, by, out=out, where=positive)


def multiply(values: Array, table: np.ndarray) -> Array:
    """Return the matrix product in the precision of the argument with the higher precision."""
    if not is_tensor(values):
        return values @ table
    there = to_device_of(table, values)
    wider = library_of(values).promote_types(values.dtype, there.dtype)
    return values.to(wider) @ there.to(wider)


def row_slices(n: int, size: int) -> list[slice]:
    """Divide n rows into blocks of ``size`` rows; the last block may be smaller."""
    return [slice(start, start + size) for start in range(0, n, size)]


def multiply_rows(rows: Array, table: np.ndarray) -> Array:
    """Return the matrix product in the precision of the rows, in blocks that fit into the cache."""
    if is_tensor(rows):
        return rows @ cast_like(table, rows)
    there = table.astype(rows.dtype)
    if is_sparse(rows):
        return rows @ there
    out = np.empty((len(rows), there.shape[1]), rows.dtype)
    for block in row_slices(len(rows), _ROWS_PER_BLOCK):
        np.matmul(rows[block], there, out=out[block])
    return out


def look_up(table: np.ndarray, where: Array) -> Array:
    """Return the elements or rows of a table at the positions ``where``, on their device."""
    if is_tensor(where):
        return to_device_of(table, where)[where]
    return table[where]


def select_columns(values: Array, which: np.ndarray) -> Array:
    """Return some columns as an array or tensor that is not sparse."""
    return decompress(values[:, to_device_of(which, values)])


def row_max(values: Array) -> Array:
    """Return the largest value of each row."""
    if is_sparse(values):
        return values.max(axis=1).toarray()
    return library_of(values).amax(values, 1)


def row_argmax(values: Array) -> Array:
    """Return the index of the largest value of each row, the first one in case of ties.

    The stored values of compressed rows are positive.
    """
    if not is_sparse(values):
        return values.argmax(axis=1)
    best = np.zeros(values.shape[0], np.intp)
    has_values = np.diff(values.indptr) > 0
    starts = values.indptr[:-1][has_values]
    if len(starts):
        largest = _repeat_rows(values, row_max(values))
        is_largest = values.data == largest
        places = np.where(is_largest, values.indices, values.shape[1])
        best[has_values] = np.minimum.reduceat(places, starts)
    return best


def concatenate_rows(parts: list[Array]) -> Array:
    """Return the rows of several arrays, as compressed rows if those of the parts are."""
    if not is_sparse(parts[0]):
        return np.concatenate(parts)
    from scipy import sparse  # slow to import

    return sparse.vstack(parts, format="csr")


def move_columns(values: Array, target: np.ndarray, n_columns: int) -> Array:
    """Return an array of ``n_columns`` columns with column j of the values at ``target[j]``."""
    shape = (values.shape[0], n_columns)
    if is_sparse(values):
        columns = target[values.indices]
        return type(values)((values.data, columns, values.indptr), shape=shape)
    out = zeros(shape, values)
    out[:, to_device_of(target, out)] = values
    return out


def add_to_column(values: Array, column: int, amounts: Array) -> Array:
    """Return the values after adding an amount of each row, in place unless they are compressed."""
    if not is_sparse(values):
        values[:, column] += amounts
        return values
    rows = np.flatnonzero(amounts)
    places = rows, np.full(len(rows), column)
    added = type(values)((amounts[rows], places), shape=values.shape)
    return values + added


def scale_rows(values: Array, factors: Array) -> Array:
    """Multiply each row by a factor."""
    if is_sparse(values):
        products = values.data * _repeat_rows(values, factors)
        return _with_data(values, products)
    return values * factors[:, None]


def normalize_rows(values: Array) -> Array:
    """Divide each row by its Euclidean norm; rows of zeros do not change."""
    largest = row_max(abs(values))
    scaled = divide(values, largest[:, None], 0)  # avoids overflow
    norms = (scaled * scaled).sum(axis=1) ** 0.5
    return divide(scaled, norms[:, None], 0)


def scale_columns(values: Array, factors: np.ndarray) -> Array:
    """Multiply each column by a factor."""
    if is_sparse(values):
        return _with_data(values, values.data * factors[values.indices])
    return values * factors


def _repeat_rows(values: Array, column: np.ndarray) -> np.ndarray:
    """Return the entry of a column for each stored value of compressed rows."""
    return column.ravel()[rows_of_entries(values.indptr)]


def rows_of_entries(indptr: np.ndarray) -> np.ndarray:
    """Return the row of each stored value of compressed rows."""
    # NumPy repeats by counts of type intp only, which has 32 bits on some platforms.
    counts = np.diff(indptr).astype(np.intp)
    return np.repeat(np.arange(len(counts)), counts)


def _with_data(values: Array, data: np.ndarray) -> Array:
    """Return compressed rows with other values at the same places."""
    return type(values)((data, values.indices, values.indptr), shape=values.shape)


def row_products(left: Array, form: np.ndarray, right: Array) -> Array:
    """Return l' F r for each row l of ``left`` and r of ``right``, in blocks of rows."""
    there = cast_like(form, left)
    library = library_of(left)
    size = max(1, _BLOCK_CELLS // max(left.shape[1], 1))
    products = []
    for block in row_slices(max(left.shape[0], 1), size):
        images = decompress(left[block]) @ there
        other = decompress(right[block])
        products.append(library.einsum("if,if->i", images, other))
    return library.concatenate(products)


def largest_in_rows(values: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns and values of the k largest positive values of each row, shape (n, k).

    The values decrease; in case of ties the first columns are returned. The column is -1 and the
    value 0 if a row has fewer positive values.
    """
    from scipy import sparse  # slow to import

    held = sparse.csr_array(values)
    n = held.shape[0]
    rows = _repeat_rows(held, np.arange(n))
    order = np.lexsort((held.indices, -held.data, rows))
    rank = np.arange(held.nnz) - held.indptr[rows]
    kept = (rank < k) & (held.data[order] > 0)
    places = rows[kept], rank[kept]
    chosen = order[kept]
    columns = np.full((n, k), -1)
    columns[places] = held.indices[chosen]
    largest = np.zeros((n, k), held.dtype)
    largest[places] = held.data[chosen]
    return columns, largest


def positions_where(marks: Array) -> Array:
    if is_tensor(marks):
        return library_of(marks).nonzero(marks).flatten()
    return np.flatnonzero(marks)


# ---- columns -------------------------------------------------------------------------------------


def row_mean(
    values: np.ndarray, weights: np.ndarray | None = None, dtype: Any = float
) -> np.ndarray:
    """Return the mean of each of the p columns, shape (p,), clipped to the range of the column.

    Without clipping, the mean could be outside the range because of rounding. It is computed in
    double precision, or in the precision of the rows if ``dtype`` is None.
    """
    if weights is None:
        wide, rest = _fold_rows(values)
        mean = _unfold(wide.sum(axis=0, dtype=dtype), values).sum(axis=0)
        mean = (mean + rest.sum(axis=0, dtype=dtype)) / len(values)
    else:
        mean = np.average(values, axis=0, weights=weights)
    return clip_to_range(mean, values)


def clip_to_range(mean: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Clip the means of columns to the range of their values, which excludes missing values."""
    low, high = column_bounds(values)
    return np.fmax(np.fmin(mean, high), low)


def column_bounds(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest value of each column, two arrays (p,), ignoring NaN."""
    wide, rest = _fold_rows(values)
    bounds = []
    for smallest in (np.fmin, np.fmax):
        part = _unfold(smallest.reduce(wide, axis=0), values)
        bounds.append(smallest.reduce(np.concatenate([part, rest]), axis=0))
    return bounds[0], bounds[1]


def _fold_rows(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return almost all rows, several of which are one row of the result, and the other rows.

    Reductions along the columns are much faster if a row has many values.
    """
    n = len(values)
    n_folded = max(_WIDE // max(values[:1].size, 1), 1)
    if not values.flags.c_contiguous or n < n_folded:
        n_folded = 1
    end = n - n % n_folded
    return values[:end].reshape(end // n_folded, -1), values[end:]


def _unfold(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return a row of `_fold_rows` as rows of the shape of those of ``like``."""
    shape = like.shape[1:]
    # reshape cannot infer the number of rows without columns.
    n_rows = values.size // int(np.prod(shape)) if np.prod(shape) else 1
    return values.reshape(n_rows, *shape)


def centering_offset(low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
    """Return the offset to subtract from each of the p columns, shape (p,), or None.

    ``low`` and ``high`` are the bounds of the columns. The offset of a column is its minimum if the
    distance of the column from zero is much larger than the range of every column, and zero
    otherwise. The result is None if no offset is needed.
    """
    widest = float((high - low).max(initial=0.0))
    far = np.abs(low) > _FAR * widest
    if far.any():
        return np.where(far, low, 0.0)
    return None
