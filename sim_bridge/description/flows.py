"""
Drag and lift on links in a still or moving medium, by MuJoCo's two fluid models.

The laws are in MuJoCo's documentation, Computation, Fluid forces. In a step, each drag
coefficient is bounded as for `force_fields.Drag`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sim_bridge.description.field_values import CheckedField
from sim_bridge.foundation.errors import InvalidValueError

_ZERO = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class BoxFlow(CheckedField):
    """
    Drag on a link as on the box with its mass and inertia; MuJoCo's inertia model.

    density: [kg/m³]. viscosity: [Pa s]. wind: (3,) velocity of the medium [m/s], world axes; the
    world's wind adds to it.
    """

    density: float = 0.0
    viscosity: float = 0.0
    wind: Sequence[float] = _ZERO

    def _check(self, kind: str) -> None:
        self._check_not_negative(kind, 'density', 'viscosity')


@dataclass(frozen=True)
class EllipsoidFlow(CheckedField):
    """
    Drag, lift and added mass forces on an ellipsoid of a link; MuJoCo's ellipsoid model.

    density, viscosity, wind: as for `BoxFlow`. semiaxes: (3,) [m]. center: (3,) [m], orientation:
    quaternion x y z w: the ellipsoid in the link's frame. blunt_drag, slender_drag, angular_drag,
    kutta_lift, magnus_lift: coefficients [1]. added_mass: (3,) [m³], added_inertia: (3,) [m⁵], per
    density, along and about the semiaxes: the forces at constant velocities; the medium adds no
    inertia, as in MuJoCo. share: factor of the whole force.
    """

    density: float = 0.0
    viscosity: float = 0.0
    semiaxes: Sequence[float] = (1.0, 1.0, 1.0)
    center: Sequence[float] = _ZERO
    orientation: Sequence[float] = (0.0, 0.0, 0.0, 1.0)
    blunt_drag: float = 0.5
    slender_drag: float = 0.25
    angular_drag: float = 1.5
    kutta_lift: float = 1.0
    magnus_lift: float = 1.0
    added_mass: Sequence[float] = _ZERO
    added_inertia: Sequence[float] = _ZERO
    share: float = 1.0
    wind: Sequence[float] = _ZERO

    def _check(self, kind: str) -> None:
        self._check_not_negative(kind, 'density', 'viscosity')
        if min(self.semiaxes) <= 0.0:
            raise InvalidValueError('semiaxes', self.semiaxes, 'three lengths above 0 [m]', kind)
        if not any(self.orientation):
            raise InvalidValueError(
                'orientation', self.orientation, 'a quaternion other than zero', kind
            )
