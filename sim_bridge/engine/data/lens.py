"""
Projection from directions to pixels.

The camera frame has z forward, x right and y down (REP 103). The upper left pixel has its
centre at u = v = 0: pixel centres are whole numbers (OpenCV). A direction has the coordinates
(x, y) on the *normalized image*, and

    u = fx x + skew y + cx,    v = fy y + cy
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from sim_bridge.compiler.arrays import FloatVector
from sim_bridge.engine.data.parts import Dims

(PINHOLE, BROWN, EQUIDISTANT, RADIAL) = range(4)
"""
Lens models; the latter two are functions of the angle from the optical axis.

BROWN        OpenCV's radial and tangential distortion (plumb_bob, rational_polynomial)
EQUIDISTANT  OpenCV's fisheye model (Kannala and Brandt 2006)
RADIAL       SDF's `<lens>`: radius c1 f(angle / c2 + c3)
"""

SINE, TANGENT, IDENTITY = range(3)
"""Functions f of RADIAL."""

COEFFICIENTS = 8
"""
Lens numbers; the unused ones are 0.

BROWN: k1 k2 p1 p2 k3 k4 k5 k6. EQUIDISTANT: k1 k2 k3 k4. RADIAL: c1 c2 c3.
"""


class Lens(NamedTuple):
    """One camera's lens."""

    model: int
    """PINHOLE …"""
    function: int
    """SINE …, for RADIAL."""
    fx: float
    """Focal length along u [px]."""
    fy: float
    """Focal length along v [px]."""
    cx: float
    """Optical axis, u [px]."""
    cy: float
    """Optical axis, v [px]."""
    skew: float
    """Growth of u with y [px]."""
    limit: float
    """Greatest tangent (PINHOLE, BROWN) or angle [rad] from the axis that the lens maps."""
    coefficient: Annotated[FloatVector, Dims(COEFFICIENTS)]
    """Model numbers."""
