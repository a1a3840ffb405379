"""
SNAP: assembly of a frame tree by the mates between them, independent of OpenPLX.

Imports `description.model`, `description.poses` and `foundation`.
"""

from sim_bridge.description.openplx.snap.assemble import miss, nearest, snap
from sim_bridge.description.openplx.snap.model import (
    KINDS,
    SnapConnector,
    SnapFrame,
    SnapMate,
    SnapResult,
    SnapStep,
    Unsatisfied,
    Why,
)
from sim_bridge.description.openplx.snap.structure import SnapError

__all__ = [
    'KINDS',
    'SnapConnector',
    'SnapError',
    'SnapFrame',
    'SnapMate',
    'SnapResult',
    'SnapStep',
    'Unsatisfied',
    'Why',
    'miss',
    'nearest',
    'snap',
]
