"""Products and factors of matrices that are mostly zeros, as those of many bodies are."""

from __future__ import annotations

import numpy as np

_FEW = 200  # columns up to which matrices count as dense
_SPARSE = 0.1  # share of entries that are not 0 up to which they do not


def sparse_product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the product of two matrices."""
    if left.shape[1] <= _FEW or not (_is_sparse(left) and _is_sparse(right)):
        return left @ right
    # imported here, since worlds without such problems need none of it
    from scipy.sparse import csr_array
    return np.asarray((csr_array(left) @ csr_array(right)).toarray())


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
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components
    _, label = connected_components(csr_array(matrix), directed=False)
    order, sizes = np.argsort(label, kind='stable'), np.bincount(label)
    starts = np.cumsum(sizes) - sizes
    return [order[starts[sizes == size][:, None] + np.arange(size)] for size in np.unique(sizes)]


def _is_sparse(matrix: np.ndarray) -> bool:
    return bool(np.count_nonzero(matrix) <= _SPARSE * matrix.size)
