"""Products and factors of matrices that are mostly zeros, as those of many bodies are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_FEW = 200  # columns up to which matrices count as dense
_SPARSE = 0.1  # share of entries that are not 0 up to which they do not


def sparse_product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the product of two matrices."""
    if _is_dense(left) or _is_dense(right):
        return left @ right
    return np.asarray((_compressed(left) @ _compressed(right)).toarray())


def gram_product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return P Pᵀ, where P is the product of two matrices."""
    if _is_dense(left) or _is_dense(right):
        rows = left @ right
        return rows @ rows.T
    product = _compressed(left) @ _compressed(right)
    return np.asarray((product @ product.T).toarray())


def inverse_factor(matrix: np.ndarray) -> np.ndarray:
    """
    Return C⁻¹, where a symmetric matrix is C Cᵀ, C lower triangular.

    Blocks that share no entries, as robots do not, are factorized apart. Raises
    numpy.linalg.LinAlgError for a matrix that is not positive definite.
    """
    found = np.zeros_like(matrix)
    for places in _blocks(matrix):
        rows, columns = places[:, :, None], places[:, None, :]
        own = np.linalg.cholesky(matrix[rows, columns])
        found[rows, columns] = np.tril(np.linalg.inv(own))
    return found


def _blocks(matrix: np.ndarray) -> list[np.ndarray]:
    """Return the places (n, size) of the blocks of a matrix, those of one size together."""
    if len(matrix) <= _FEW:
        return [np.arange(len(matrix))[None]]
    from scipy.sparse.csgraph import connected_components
    _, label = connected_components(_compressed(matrix), directed=False)
    order, sizes = np.argsort(label, kind='stable'), np.bincount(label)
    starts = np.cumsum(sizes) - sizes
    return [order[starts[sizes == size][:, None] + np.arange(size)] for size in np.unique(sizes)]


def _is_dense(matrix: np.ndarray) -> bool:
    return min(matrix.shape) <= _FEW or bool(
        np.count_nonzero(matrix) > _SPARSE * matrix.size)


def _compressed(matrix: np.ndarray) -> csr_array:
    """Return a matrix in scipy's form; scipy itself looks for entries in a slower way."""
    # imported here, since worlds without such problems need none of it
    from scipy.sparse import csr_array
    mask = matrix != 0.0
    rows, columns = np.nonzero(mask)
    starts = np.concatenate([[0], np.cumsum(np.count_nonzero(mask, axis=1))])
    return csr_array(
        (matrix[rows, columns], np.ascontiguousarray(columns), starts), shape=matrix.shape)
