"""Visuals by their opacity, and the boxes around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sim_bridge.engine.data.geometry import ENABLED, Geometry, LINE, MESH, PLANE, SENSOR
from sim_bridge.engine.data.pencil import CUT, IGNORED, WHOLE
from sim_bridge.engine.image.outline import CLUSTER_LEVELS
from sim_bridge.foreign.appearance import Piece
from sim_bridge.foundation.arrays import FloatArray, IntArray


class Roles(NamedTuple):
    """
    Each visual's role, (n,) IGNORED, WHOLE or CUT.

    opaque: those with full opacity. layered: the others. casters: those with shadows.
    """

    opaque: IntArray
    layered: IntArray
    casters: IntArray

    @property
    def has_layers(self) -> bool:
        """Whether a visual is not opaque."""
        return bool(self.layered.any())


class Boxes(NamedTuple):
    """
    Boxes around all surfaces but planes.

    corners: (m, 6) least and greatest corner [m], in the visual's frame. owner: (m,) visual.
    """

    corners: FloatArray
    owner: np.ndarray


def roles_of(geometry: Geometry, opacity: FloatArray, surfaces: Sequence[object]) -> Roles:
    """Return the roles; opacity: (n,). surfaces: shapes and pieces, by visual."""
    is_seen = geometry.flags & (ENABLED | LINE | SENSOR) == ENABLED
    is_cut = np.array([isinstance(each, Piece) and _varies(each) for each in surfaces], bool)
    is_opaque = is_seen & ~is_cut & (opacity >= 1.0)
    casters = np.where(is_cut, CUT, np.where(opacity >= 0.5, WHOLE, IGNORED))
    return Roles(
        np.where(is_opaque, WHOLE, IGNORED),
        np.where(is_seen & ~is_opaque, WHOLE, IGNORED),
        np.where(is_seen, casters, IGNORED),
    )


def _varies(piece: Piece) -> bool:
    """Return whether a texture or a vertex colour is not opaque."""
    parts = [each for each in (piece.picture, piece.colors) if each is not None]
    return any(bool((each[..., 3] < 255).any()) for each in parts)


def boxes_of(geometry: Geometry) -> Boxes:
    """Return the boxes: of a mesh's clusters, and of whole other shapes."""
    corners, owner = [np.zeros((0, 6))], [np.zeros(0, np.int32)]
    for g, shape in enumerate(geometry.shape.tolist()):
        if shape == PLANE:
            continue
        if shape == MESH:
            first, depth = geometry.tree[g].tolist()
            level = max(depth - CLUSTER_LEVELS, 0)
            found = geometry.tree_box[first + (1 << level) - 1 : first + (2 << level) - 1]
        else:
            middle, half = geometry.bounds[g, :3], geometry.bounds[g, 3:]
            found = np.concatenate([middle - half, middle + half])[None]
        corners.append(found)
        owner.append(np.full(len(found), g, np.int32))
    return Boxes(np.ascontiguousarray(np.concatenate(corners)), np.concatenate(owner))
