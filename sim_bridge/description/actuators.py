"""
Actuators in a description as plain data: transmission, force law and activation dynamics.

The law is MuJoCo's (XML reference, `actuator/general`): with the length L of the transmission,

    force = (g0 + g1 L + g2 dL/dt) input + b0 + b1 L + b2 dL/dt,

clamped to the force range. The input is the control within its range, or the activation of an
actuator with dynamics. The units follow from the transmission: a position in rad or m gives a
force in N m or N.
"""

from __future__ import annotations

from dataclasses import dataclass, field
import math

import numpy as np

from sim_bridge.foundation.arrays import FloatArray

Range = tuple[float, float]
"""Lower and upper limit; infinite for none."""
ENDLESS: Range = (-math.inf, math.inf)
DYNAMICS = ('none', 'integrator', 'filter', 'filterexact')
"""
Activation dynamics: rate of the activation a for the control c and the time constant T.

none: the force uses the control. integrator: c. filter: (c - a) / T, by Euler steps. filterexact:
the same, exactly.
"""


@dataclass(frozen=True, eq=False)
class SiteFrame:
    """Frame fixed to a link. position: (3,) [m]. rotation: (3, 3); both in the link's frame."""

    link: str
    position: FloatArray = field(default_factory=lambda: np.zeros(3))
    rotation: FloatArray = field(default_factory=lambda: np.eye(3))


@dataclass(frozen=True)
class JointTransmission:
    """
    Force on a joint.

    A one-axis joint's length is its position times the gear. A ball joint's length is the product
    of its rotation vector and the gear (3), which is in axes of the child link, or in axes of the
    parent link if `in_parent` is true.
    """

    joint: str
    in_parent: bool = False


@dataclass(frozen=True, eq=False)
class SiteTransmission:
    """
    Force and torque at a frame: the gear (6), force then torque.

    Without `reference` the gear is in the frame's axes, and the length is 0. With it the gear is
    in the reference's axes; the length is the gear's product with position and rotation vector of
    the frame in the reference. The reference's link feels the opposite wrench.
    """

    site: SiteFrame
    reference: SiteFrame | None = None


@dataclass(frozen=True, eq=False)
class CrankTransmission:
    """
    Slider-crank: a rod between a crank pin and a slider that moves along its frame's z axis.

    pin: frame whose origin is the pin. slider: frame whose z axis is the slider's way. rod_length:
    [m]. The length is the slider's position times the gear.
    """

    pin: SiteFrame
    slider: SiteFrame
    rod_length: float


@dataclass(frozen=True)
class CouplingTransmission:
    """Force on a coupling, by its name; the length is the coupling's times the gear."""

    coupling: str


Transmission = JointTransmission | SiteTransmission | CrankTransmission | CouplingTransmission


@dataclass(frozen=True)
class CouplingDescription:
    """
    Linear coupling between one-axis joints: a fixed tendon.

    name: unique among the robot's couplings. joints, factors: the length is the sum of the joint
    positions times the factors. stiffness, damping: a spring and a damper on the length.
    spring_range: lengths without spring force. line: in its file, 0 for none.
    """

    name: str
    joints: tuple[str, ...]
    factors: tuple[float, ...]
    stiffness: float = 0.0
    damping: float = 0.0
    spring_range: Range = (0.0, 0.0)
    line: int = 0


@dataclass(frozen=True, eq=False)
class ActuatorDescription:
    """
    Actuator of a robot, whatever kind of file declares it.

    name: unique on the robot. gear: one number, three for a ball joint, six for a site; missing
    ones are 0. control_range, force_range, activation_range: limits. gain, bias: g0, g1, g2 and
    b0, b1, b2. dynamics: one of DYNAMICS. time_constant: of a filter [s]. uses_next: whether the
    force uses the activation after the step (MuJoCo's actearly). line: in its file, 0 for none.
    """

    name: str
    transmission: Transmission
    gear: tuple[float, ...] = (1.0,)
    control_range: Range = ENDLESS
    force_range: Range = ENDLESS
    activation_range: Range = ENDLESS
    gain: tuple[float, float, float] = (1.0, 0.0, 0.0)
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    dynamics: str = 'none'
    time_constant: float = 1.0
    uses_next: bool = False
    line: int = 0
