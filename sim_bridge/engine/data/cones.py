"""Cones around the normals of mesh clusters, for clusters without a face towards the camera."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from sim_bridge.compiler.arrays import FloatMatrix, IntVector
from sim_bridge.engine.data.parts import Dims

# columns in Cones.cone
AXIS, CENTRE, RADIUS, COSINE = 0, 3, 6, 7
NO_CONES = -1


class Cones(NamedTuple):
    """Cones by cluster: nodes of a mesh's tree, see `outline.CLUSTER_LEVELS`."""

    first: Annotated[IntVector, Dims('ng', points_at='clusters')]
    """First row in `cone` of each closed mesh, NO_CONES for other geometries."""
    cone: Annotated[FloatMatrix, Dims('clusters', 8, unit='1; m')]
    """Unit AXIS, CENTRE and RADIUS of a ball, COSINE of the half angle; geometry frame."""
