"""
Fluid forces on links: rotors, thrusters, wings, aircraft, hulls, buoyancy, bladders.

The laws follow Gazebo's plugins MulticopterMotorModel, Thruster, LiftDrag, AdvancedLiftDrag,
Hydrodynamics, Buoyancy and BuoyancyEngine; docs/gazebo_plugins.md has the formulas and the
differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, Field, field, replace
import math
from typing import Any

import numpy as np

from sim_bridge.description.field_values import CheckedField
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_number, items_of, real_array

_ZERO = (0.0, 0.0, 0.0)
_SIX = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
_DERIVATIVES = (6, 6)


@dataclass(frozen=True)
class Rotor(CheckedField):
    """
    Multicopter propeller, turned by a joint; acts on its link and on the joint's parent.

    With the rotor speed ω = slowdown times the joint velocity and the air speed u at the link's
    mass centre across the joint axis: thrust along the link's z axis, thrust_constant ω² (from
    the joint's positive direction if it turns counterclockwise); drag -drag_constant |ω| u; on the
    parent, the torque -moment_constant times the thrust against the turning direction, and
    -rolling_constant |ω| u. Martin and Salaün, The true role of accelerometer feedback in
    quadrotor control, ICRA 2010.

    joint: joint with control 'velocity'. is_clockwise: turning direction, seen against z.
    thrust_constant: [N s²/rad²]. moment_constant: [m]. drag_constant: [N s²/(m rad)].
    rolling_constant: [N s²/rad]. slowdown: rotor speed per joint velocity.
    time_constant_up, time_constant_down: lags behind the target velocity, for growing
    and falling speeds [s]. wind: (3,) [m/s], world axes.
    """

    joint: str = ''
    is_clockwise: bool = False
    thrust_constant: float = 8.54858e-06
    moment_constant: float = 0.016
    drag_constant: float = 1.0e-4
    rolling_constant: float = 1.0e-6
    slowdown: float = 1.0
    time_constant_up: float = 1.0 / 80.0
    time_constant_down: float = 1.0 / 40.0
    wind: Sequence[float] = _ZERO

    def _check(self, kind: str) -> None:
        self._check_not_negative(kind, 'time_constant_up', 'time_constant_down')
        if self.slowdown <= 0.0:
            raise InvalidValueError('slowdown', self.slowdown, 'a number above 0', kind)


@dataclass(frozen=True)
class Thruster(CheckedField):
    """
    Ship's propeller, turned by a joint; pushes its link along the joint axis, at its origin.

    With the joint's target velocity n and the link's speed u: thrust = ρ d⁴ |n| n
    (thrust_coefficient + advance_coefficient (1 - wake_fraction) u / (n d)). Fossen, Guidance and
    Control of Ocean Vehicles, 1994, section 4.1.

    joint: joint with control 'velocity'. thrust_coefficient: [s² rad⁻²]. density: ρ [kg/m³].
    diameter: d [m]. advance_coefficient: slope over the advance ratio.
    wake_fraction: relative slowness where the propeller turns. time_constant: the joint's lag
    behind its target [s].
    """

    joint: str = ''
    thrust_coefficient: float = 1.0
    density: float = 1000.0
    diameter: float = 0.02
    advance_coefficient: float = 0.0
    wake_fraction: float = 0.2
    time_constant: float = 0.0

    def _check(self, kind: str) -> None:
        self._check_not_negative(kind, 'density', 'diameter', 'time_constant')

    @property
    def thrust_per_square(self) -> float:
        """Thrust per squared joint velocity, at rest [N s²/rad²]."""
        return self.thrust_coefficient * self.density * self.diameter**4

    def speed_for(self, thrust: float) -> float:
        """Return the joint velocity with a thrust [N] at rest [rad/s]; 0 if there is none."""
        k = self.thrust_per_square
        return math.copysign(math.sqrt(abs(thrust / k)), thrust * k) if k != 0.0 else 0.0


@dataclass(frozen=True)
class LiftDrag(CheckedField):
    """
    Wing: lift, drag and moment at a pressure centre, linear in the attack angle.

    The coefficients are slope times angle up to `alpha_stall`, then go on with the stall slopes;
    with the dynamic pressure ½ ρ v² and the area they give forces. Up to 0.01 m/s there are none.

    cla, cda, cma: slopes for lift, drag, moment [1/rad]. alpha_stall: [rad]. cla_stall, cda_stall,
    cma_stall: slopes beyond. air_density: ρ [kg/m³]. area: [m²]. a0: added to the measured attack
    angle [rad]. cp: (3,) pressure centre in the link's frame [m]. forward, upward: (3,) directions
    in the link's axes. joint: control surface, '' for none. control_joint_rad_to_cl,
    cm_delta: lift and moment coefficient per its position [1/rad]. radial_symmetry:
    whether the upward direction follows the flow. reversible: whether flow from behind counts.
    wind: (3,) [m/s], world axes.
    """

    cla: float = 1.0
    cda: float = 0.01
    cma: float = 0.0
    alpha_stall: float = 0.5 * math.pi
    cla_stall: float = 0.0
    cda_stall: float = 1.0
    cma_stall: float = 0.0
    air_density: float = 1.2041
    area: float = 1.0
    a0: float = 0.0
    cp: Sequence[float] = _ZERO
    forward: Sequence[float] = (1.0, 0.0, 0.0)
    upward: Sequence[float] = (0.0, 0.0, 1.0)
    joint: str = ''
    control_joint_rad_to_cl: float = 4.0
    cm_delta: float = 0.0
    radial_symmetry: bool = False
    reversible: bool = False
    wind: Sequence[float] = _ZERO

    def _check(self, kind: str) -> None:
        check_directions(self, kind)


@dataclass(frozen=True)
class AdvancedLiftDrag(CheckedField):
    """
    Aircraft as one body: six coefficients from stability and control derivatives.

    Aircraft axes: x forward, y right, z down. Angle of attack α = atan2(v_z, v_x), sideslip angle
    β = atan2(v_y, v_x), dynamic pressure ½ ρ V² with the speed V in the plane of x and z. Rates
    are made dimensionless by b / 2V (roll, yaw) and c / 2V (pitch), with the span b = √(area
    aspect_ratio). Beyond the stall angle the lift becomes that of a flat plate, by a sigmoid;
    induced drag is C_L² / (π efficiency aspect_ratio). Conventions of AVL (Drela and Youngren,
    Athena Vortex Lattice); forces along the airflow, moments about the aircraft axes, at `cp`.

    derivatives: (6, 6) rows C_D, C_Y, C_L, C_l, C_m, C_n; columns: value at zero, then
    derivatives by α, β [1/rad] and the dimensionless rates p, q, r. joints: control surfaces, by
    their joints. controls: (n, 6) derivatives of the coefficients by each joint's position
    [1/rad]. alpha_stall: [rad]. pitch_stall: slope of C_m by α beyond [1/rad]. area: [m²].
    aspect_ratio, efficiency: above 0. chord: c, mean aerodynamic [m]; 0: area / b. air_density: ρ
    [kg/m³]. cp: (3,) reference point in the link's frame [m]. forward, upward: (3,) directions in
    the link's axes. wind: (3,) [m/s], world axes.
    """

    derivatives: Any = ()
    joints: Sequence[str] = field(default=(), metadata={'names': True})
    controls: Any = ()
    alpha_stall: float = 0.5 * math.pi
    pitch_stall: float = 0.0
    area: float = 1.0
    aspect_ratio: float = 1.0
    efficiency: float = 1.0
    chord: float = 0.0
    air_density: float = 1.2041
    cp: Sequence[float] = _ZERO
    forward: Sequence[float] = (1.0, 0.0, 0.0)
    upward: Sequence[float] = (0.0, 0.0, 1.0)
    wind: Sequence[float] = _ZERO

    def _checked(self, field: Field[Any], kind: str) -> Any:
        """Return an attribute's checked value; matrices as nested tuples."""
        value = getattr(self, field.name)
        if field.name == 'joints':
            return items_of('joints', value, str, 'a list of names', kind)
        if field.name not in ('derivatives', 'controls'):
            return super()._checked(field, kind)
        rows = len(self.joints) if field.name == 'controls' else _DERIVATIVES[0]
        expected = f'finite numbers, {rows} rows with 6 columns'
        array = real_array(field.name, value, expected, kind)
        if field.name == 'derivatives' and array.size == 0:
            array = np.zeros(_DERIVATIVES)
        if array.size != 6 * rows or not np.isfinite(array).all():
            raise InvalidValueError(field.name, value, expected, kind)
        return _nested(array.reshape(rows, 6))

    def _check(self, kind: str) -> None:
        self._check_not_negative(kind, 'area', 'chord', 'air_density', 'alpha_stall')
        for name in ('aspect_ratio', 'efficiency'):
            if getattr(self, name) <= 0.0:
                raise InvalidValueError(name, getattr(self, name), 'a number above 0', kind)
        check_directions(self, kind)

    @property
    def span(self) -> float:
        """Wing span b [m]."""
        return math.sqrt(self.area * self.aspect_ratio)


@dataclass(frozen=True)
class Hydrodynamics(CheckedField):
    """
    Added mass, its Coriolis forces, and damping on a hull, about the link's origin in its axes.

    With the link's velocity ν = (linear, angular) relative to the current: the forces
    -A ν' - C(ν) ν - L ν - Σ Q_ijk |ν_k| ν_j - Σ M_ijk ν_k ν_j. Fossen, Guidance and Control of
    Ocean Vehicles, 1994, sections 2.4 and 2.5. The added mass adds to the link's inertia and is
    stable at any size.

    added_mass: A, six diagonal entries or (6, 6) [kg; kg m; kg m²]; the symmetric part counts, and
    has no negative eigenvalue. linear_damping: L, likewise. quadratic_damping: Q, six entries
    Q_iii or (6, 6, 6). mixed_damping: M, likewise. current: (3,) water velocity [m/s],
    world axes. coriolis: whether C acts.
    """

    added_mass: Any = _SIX
    linear_damping: Any = _SIX
    quadratic_damping: Any = _SIX
    mixed_damping: Any = _SIX
    current: Sequence[float] = _ZERO
    coriolis: bool = True

    def _checked(self, field: Field[Any], kind: str) -> Any:
        """Return an attribute's checked value; arrays as nested tuples."""
        size = {'added_mass': 2, 'linear_damping': 2}.get(field.name, 3)
        if field.default is not _SIX:
            return super()._checked(field, kind)
        given = getattr(self, field.name)
        expected = f'six finite numbers, or an array {(6,) * size}'
        value = real_array(field.name, given, expected, kind)
        if value.shape not in ((6,), (6,) * size) or not np.isfinite(value).all():
            raise InvalidValueError(field.name, given, expected, kind)
        return _nested(value)

    def _check(self, kind: str) -> None:
        if np.linalg.eigvalsh(self.added_inertia)[0] < -1e-9 * np.abs(self.added_inertia).max():
            raise InvalidValueError(
                'added_mass', self.added_mass, 'a matrix without negative eigenvalues', kind
            )

    @property
    def added_inertia(self) -> np.ndarray:
        """(6, 6) added mass, linear coordinates first."""
        full = full_array(self.added_mass, 2)
        symmetric: np.ndarray = 0.5 * (full + full.T)
        return symmetric


@dataclass(frozen=True)
class Buoyancy(CheckedField):
    """
    The displaced fluid's weight, upwards at its centre.

    density: fluid [kg/m³] below all layers. layers: pairs (height z [m], density above it),
    rising; () for fluid everywhere. A water surface at z = 0: Buoyancy(1000, [(0, 1)]). volume:
    each link's [m³]; 0: from its collision shapes. center: (3,) the volume's centre in the link's
    frame [m].
    """

    density: float = 1000.0
    layers: Any = ()
    volume: float = 0.0
    center: Sequence[float] = _ZERO

    def _checked(self, field: Field[Any], kind: str) -> Any:
        """Return an attribute's checked value; layers as pairs."""
        if field.name != 'layers':
            return super()._checked(field, kind)
        try:
            pairs = [(height, density) for height, density in list(self.layers)]
        except (TypeError, ValueError):
            raise InvalidValueError(
                'layers', self.layers, 'pairs of a height and a density', kind
            ) from None
        return tuple(
            (finite_number('height', height, kind), finite_number('density', density, kind))
            for height, density in pairs
        )

    def _check(self, kind: str) -> None:
        self._check_not_negative(kind, 'density', 'volume')
        heights = [height for height, _ in self.layers]
        if sorted(set(heights)) != heights or any(density < 0.0 for _, density in self.layers):
            raise InvalidValueError(
                'layers', self.layers, 'rising heights, and densities of at least 0', kind
            )


@dataclass(frozen=True)
class BuoyancyEngine(CheckedField):
    """
    Bladder of an underwater glider: Archimedes' force at the link's origin, against gravity.

    Force -g (ρ V - ρ neutral_volume), the first term below the surface only. A pump changes the
    volume V from `volume` at the time `since` to `target_volume`, with a constant rate.

    density: ρ [kg/m³]. neutral_volume: displaces the bladder's own mass [m³]. volume,
    target_volume: [m³]. rate: greatest change of the volume [m³/s]. since: world time [s].
    surface: height of the water [m]; inf: water everywhere.
    """

    density: float = 1000.0
    neutral_volume: float = 3.0e-4
    volume: float = 3.0e-5
    target_volume: float = 3.0e-5
    rate: float = 3.0e-6
    since: float = 0.0
    surface: float = math.inf

    def _checked(self, field: Field[Any], kind: str) -> Any:
        """Return an attribute's checked value; the surface may be infinite."""
        is_open = field.name == 'surface' and self.surface == math.inf
        return math.inf if is_open else super()._checked(field, kind)

    def _check(self, kind: str) -> None:
        names = ('density', 'neutral_volume', 'volume', 'target_volume', 'rate')
        self._check_not_negative(kind, *names)

    def volume_at(self, time: float) -> float:
        """Return the volume at a world time [m³]."""
        pumped = self.rate * max(time - self.since, 0.0)
        return self.volume + min(max(self.target_volume - self.volume, -pumped), pumped)

    def pumped_to(self, volume: float, time: float) -> BuoyancyEngine:
        """Return the engine with another target volume [m³] from a world time on [s]."""
        return replace(self, volume=self.volume_at(time), target_volume=volume, since=time)


def check_directions(wing: LiftDrag | AdvancedLiftDrag, kind: str) -> None:
    """Raise InvalidValueError for directions without length."""
    for name in ('forward', 'upward'):
        if not any(getattr(wing, name)):
            raise InvalidValueError(name, getattr(wing, name), 'a direction', kind)


def full_array(values: Any, size: int) -> np.ndarray:
    """Return an array with shape (6,) * size from itself or from its diagonal."""
    array = np.asarray(values, float)
    if array.ndim == size:
        return array
    full = np.zeros((6,) * size)
    full[(np.arange(6),) * size] = array
    return full


def _nested(array: np.ndarray) -> Any:
    """Return an array as nested tuples, which can be compared and hashed."""
    return tuple(map(_nested, array)) if array.ndim > 1 else tuple(array.tolist())
