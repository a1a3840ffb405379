"""Products and factors for mostly zero matrices, as occur with many bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_FEW = 200  # largest column count for a matrix always treated as dense
_DEPENDENT = 1e-10  # relative singular value below which rows count as linearly dependent
_SPARSE = 0.1  # largest nonzero entry share in a sparse matrix


def sparse_product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return a matrix product."""
    if _is_dense(left) or _is_dense(right):
        return left @ right
    return np.asarray((_compressed(left) @ _compressed(right)).toarray())


def gram_product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return P Pᵀ, where P = left right."""
    if _is_dense(left) or _is_dense(right):
        rows = left @ right
        return rows @ rows.T
    product = _compressed(left) @ _compressed(right)
    return np.asarray((product @ product.T).toarray())


def inverse_factor(matrix: np.ndarray) -> np.ndarray:
    """
    Return C⁻¹ for a symmetric matrix C Cᵀ with lower triangular C.

    Blocks without common entries, for example separate robots, are factorized separately.
    Raises numpy.linalg.LinAlgError unless the matrix is positive definite.
    """
    found = np.zeros_like(matrix)
    for places in _blocks(matrix):
        rows, columns = places[:, :, None], places[:, None, :]
        own = np.linalg.cholesky(matrix[rows, columns])
        found[rows, columns] = np.tril(np.linalg.inv(own))
    return found


def null_space(columns: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis for the space orthogonal to the columns."""
    parts = []
    for rows, own in _parts(columns):
        block = columns[np.ix_(rows, own)]
        sizes = np.linalg.norm(block, axis=0)
        present = block[:, sizes > 0.0] / sizes[sizes > 0.0]
        basis = np.eye(len(rows))
        if present.shape[1]:
            _, values, vectors = np.linalg.svd(present.T)
            basis = vectors[np.count_nonzero(values > _DEPENDENT * values.max()) :].T
        parts.append((rows, basis))
    found = np.zeros((len(columns), sum(basis.shape[1] for _, basis in parts)))
    end = 0
    for rows, basis in parts:
        found[rows, end : end + basis.shape[1]] = basis
        end += basis.shape[1]
    return found


def least_squares(columns: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the smallest x that minimizes |columns x - right|; right: (n,)."""
    found = np.zeros(columns.shape[1])
    for rows, own in _parts(columns):
        if len(rows) and len(own):
            found[own] = np.linalg.lstsq(
                columns[np.ix_(rows, own)], right[rows], rcond=_DEPENDENT
            )[0]
    return found


def _parts(matrix: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return each matrix part's row and column indices; parts share no entries."""
    height, width = matrix.shape
    if max(height, width) <= _FEW:
        return [(np.arange(height), np.arange(width))]
    from scipy.sparse import block_array
    from scipy.sparse.csgraph import connected_components

    own = _compressed(matrix)
    count, label = connected_components(block_array([[None, own], [own.T, None]]), directed=False)
    order = np.argsort(label, kind='stable')
    ends = np.cumsum(np.bincount(label, minlength=count))
    return [
        (places[places < height], places[places >= height] - height)
        for places in np.split(order, ends[:-1])
    ]


def _blocks(matrix: np.ndarray) -> list[np.ndarray]:
    """Return the indices (n, size) of the diagonal blocks, grouped by block size."""
    if len(matrix) <= _FEW:
        return [np.arange(len(matrix))[None]]
    from scipy.sparse.csgraph import connected_components

    _, label = connected_components(_compressed(matrix), directed=False)
    order, sizes = np.argsort(label, kind='stable'), np.bincount(label)
    starts = np.cumsum(sizes) - sizes
    return [order[starts[sizes == size][:, None] + np.arange(size)] for size in np.unique(sizes)]


def _is_dense(matrix: np.ndarray) -> bool:
    return min(matrix.shape) <= _FEW or bool(np.count_nonzero(matrix) > _SPARSE * matrix.size)


def _compressed(matrix: np.ndarray) -> csr_array:
    """Return a matrix in scipy's CSR form; scipy's own search for entries is slower."""
    # imported here: worlds without sparse problems do not load scipy
    from scipy.sparse import csr_array

    mask = matrix != 0.0
    rows, columns = np.nonzero(mask)
    starts = np.concatenate([[0], np.cumsum(np.count_nonzero(mask, axis=1))])
    return csr_array(
        (matrix[rows, columns], np.ascontiguousarray(columns), starts), shape=matrix.shape
    )
