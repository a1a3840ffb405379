"""Worlds with a static body for each visual."""

from __future__ import annotations

import sim_bridge as sb
from sim_bridge.foreign.appearance import Piece
from sim_bridge.foundation.rotation import quaternion_from_matrix


def twin_of(scenery, poses):
    """Return a world with a static body at each visual's pose; geometry k is visual k."""
    made = sb.World()
    for each in scenery.visuals:
        R, p = poses[each.body, :9].reshape(3, 3), poses[each.body, 9:]
        surface = each.surface
        if isinstance(surface, Piece):
            surface = sb.TriangleMesh(surface.vertices * each.scale, surface.triangles)
        made.add_body(
            surface,
            motion='static',
            position=p + R @ each.position,
            orientation=quaternion_from_matrix(R @ each.rotation),
        )
    return made
