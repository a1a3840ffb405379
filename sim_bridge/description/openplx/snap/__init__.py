"""
SNAP: the assembly of a tree of frames by the mates between them. It knows no OpenPLX.

Imports `description.model` and `foundation`.
"""

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

__all__ = [
    'KINDS',
    'SnapConnector',
    'SnapFrame',
    'SnapMate',
    'SnapResult',
    'SnapStep',
    'Unsatisfied',
    'Why',
]
