"""Poses of visuals."""

from __future__ import annotations

from sim_bridge.compiler.arrays import FloatMatrix
from sim_bridge.compiler.entry import entry
from sim_bridge.engine.collision.broad.place import frame_in_world
from sim_bridge.engine.data.geometry import Geometry
from sim_bridge.engine.math.spatial import store_pose


@entry
def place_visuals(geometry: Geometry, pose: FloatMatrix, placed_out: FloatMatrix):
    """
    Compute world poses.

    pose: (nb, 12) body poses. placed_out: (ng, 12) geometry poses.
    """
    for g in range(geometry.body.shape[0]):
        R, p = frame_in_world(geometry, g, pose)
        store_pose(placed_out, g, R, p)
