"""Force fields: their laws and affected links."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntVector
from sim_bridge.engine.data.parts import Dims, make

# values in Fields.kind
UNIFORM = 0
POINT = 1
DRAG = 2
FUNCTION = 3  # a Python function writing Fields.sample
WIND = 4
# fluid forces, see `dynamics.fluid_forces`
FIRST_FLUID = 5
ROTOR, THRUSTER, LIFT_DRAG, HYDRODYNAMICS, BUOYANCY = range(FIRST_FLUID, FIRST_FLUID + 5)
AIRCRAFT, BLADDER = FIRST_FLUID + 5, FIRST_FLUID + 6
WRENCH = FIRST_FLUID + 7  # a constant force at a place of the link
BOX_FLOW, ELLIPSOID_FLOW = FIRST_FLUID + 8, FIRST_FLUID + 9

# columns in Fields.law
FIELD_SIZE = 15
ACCELERATION = 3  # UNIFORM: force [N] from 0 on, acceleration [m/s²]
CENTER, STRENGTH, POWER, PER_MASS = 0, 3, 4, 5  # POINT: [m; N or m/s² at 1 m; 1; 1 per mass]
DRAG_WIND, GUST, GUST_RATE = 0, 3, 6  # DRAG: velocities [m/s], [rad/s]
LINEAR_DRAG, QUADRATIC_DRAG, ANGULAR_DRAG = 7, 8, 9  # N s/m, N s²/m², N m s
# WIND: horizontal speed [m/s], direction [rad], vertical speed [m/s]: final ones, offsets at the
# start, decay rates [1/s] (0: no offset); start [s]; gust (share) and swing [rad], with angular
# frequencies [rad/s]; push per mass and relative velocity [1/s]
FINAL, OFFSETS, DECAYS, BEGUN = 0, 3, 6, 9
GUST_SHARE, GUST_TURNS, SWING, SWING_TURNS, PUSH_RATE = 10, 11, 12, 13, 14

# columns in Fields.link: mass, centre of mass, least principal moment of inertia
LEAST_INERTIA = 4
LINK_SIZE = 5

# One row's numbers in Fields.fluid, from Fields.fluid_at on.
# ROTOR and THRUSTER: joint axis in the link's axes; time constants [s]
TURN_AXIS, LAG_UP, LAG_DOWN = 0, 3, 4
# ROTOR: 1 if it turns counterclockwise, else -1; speed ratio; constants; wind [m/s]
TURNS, SLOWDOWN, THRUST, MOMENT, ROTOR_DRAG, ROLLING, ROTOR_WIND = 5, 6, 7, 8, 9, 10, 11
ROTOR_SIZE = 14
# THRUSTER: thrust per squared joint velocity, and per joint velocity and speed
PER_SQUARE, PER_ADVANCE = 5, 6
THRUSTER_SIZE = 7
# LIFT_DRAG: pressure centre [m], unit directions, in the link's frame; coefficients
PRESSURE, FORWARD, UPWARD = 0, 3, 6
CL, CD, CM, STALL, CL_STALL, CD_STALL, CM_STALL = range(9, 16)
AIR_DENSITY, AREA, ALPHA0, CL_JOINT, CM_JOINT, IS_RADIAL, IS_REVERSIBLE = range(16, 23)
WING_WIND = 23
WING_SIZE = 26
# AIRCRAFT: reference point [m], unit directions, in the link's frame; then numbers; the (6, 6)
# derivatives by rows; control surface count, each with a coordinate of velocity and 6 derivatives
STALL_ANGLE, PITCH_STALL, PLAN_AREA, SPAN, CHORD, PLATE_DRAG, INDUCED, DENSITY_OF_AIR = range(
    9, 17
)
AIRCRAFT_WIND, DERIVATIVES, CONTROLS = 17, 20, 56
FIRST_CONTROL, CONTROL_SIZE = 57, 7
# BLADDER: fluid density [kg/m³], neutral, first and target volume [m³], rate [m³/s], start [s],
# height of the surface [m]
BLADDER_DENSITY, NEUTRAL, FIRST_VOLUME, TARGET_VOLUME, PUMP_RATE, PUMP_START, SURFACE = range(7)
# HYDRODYNAMICS: current [m/s]; whether Coriolis forces act; added mass and linear damping, (6, 6)
# by rows; least inertias for each direction; product count, each with CURVE_SIZE numbers:
# force, velocity and factor index, whether the factor is a magnitude, coefficient
CURRENT, HAS_CORIOLIS, ADDED_MASS, LINEAR, INERTIAS, CURVES = 0, 3, 4, 40, 76, 82
FIRST_CURVE, CURVE_SIZE = 83, 5
# BUOYANCY: shape's frame in the body, origin at its volume's centre; volume [m³]; radius around it
# [m]; its kind, with two sizes [m]; fluid density at the bottom [kg/m³], layer count; then pairs
# (height, density above), then for POLYHEDRON the triangle count and all corners
SHAPE_ROTATION, SHAPE_CENTRE, VOLUME, REACH, SHAPE, SHAPE_SIZES = 0, 9, 12, 13, 14, 15
DENSITY, LAYERS, FIRST_LAYER = 17, 18, 19
# shapes for BUOYANCY
BALL, DRUM, POLYHEDRON = range(3)
# WRENCH: force [N], torque [N m], place in the link's frame [m]; 1 for the link's axes
WRENCH_FORCE, WRENCH_TORQUE, WRENCH_POINT, WRENCH_IS_LOCAL = 0, 3, 6, 9
# BOX_FLOW and ELLIPSOID_FLOW: axes and centre in the body [m]; wind [m/s]; density [kg/m³],
# viscosity [Pa s]; sides of the box [m]; semiaxes [m], coefficients, added mass and inertia
FLOW_ROTATION, FLOW_CENTRE, FLOW_WIND, FLOW_DENSITY, FLOW_VISCOSITY = 0, 9, 12, 15, 16
BOX_SIDES = SEMIAXES = 17
BLUNT_DRAG, SLENDER_DRAG, ANGULAR_DRAG_OF_FLOW, KUTTA_LIFT, MAGNUS_LIFT, ADDED = range(20, 26)
FLOW_SHARE = 31
# columns in Fields.sample
PLACE, MOTION, PUSH = 0, 3, 6
SAMPLE_SIZE = 9
# entries in Fields.call: stage address, 0 without fields; callback address for Python
# functions, 0 without any; 1 if one of these functions is gravity; 1 if any joint lags behind its
# target
STAGE, CALLBACK, HAS_GRAVITY, HAS_LAGS = range(4)
# entries in Fields.time: start of a step, or time of the observed state; time of the evaluation
START, NOW = range(2)
# entries in Fields.point: requested point, and gravity there
ASKED, FALL = 0, 3

# phases for the fields' stage: in a step, or at an instant
IN_STEP, AT_INSTANT = range(2)
# phases for the callback
FORCES, GRAVITY = range(2)
# stage result after an exception in a Python function
FAILED = -2


class Fields(NamedTuple):
    """Force fields, and one row for each field and link."""

    call: Annotated[IntVector, Dims(4)]
    """Entries STAGE, CALLBACK, HAS_GRAVITY, HAS_LAGS."""
    time: Annotated[FloatVector, Dims(2, unit='s')]
    """Entries START, NOW."""
    kind: Annotated[IntVector, Dims('nf')]
    """UNIFORM, POINT, DRAG, FUNCTION, WIND, a fluid force (ROTOR … BLADDER), or WRENCH."""
    law: Annotated[FloatMatrix, Dims('nf', FIELD_SIZE, unit='SI')]
    """Parameters of the fields."""
    of: Annotated[IntVector, Dims('pushed', points_at='nf')]
    """Field of each row."""
    body: Annotated[IntVector, Dims('pushed', points_at='nb')]
    """Body of the row's link."""
    link: Annotated[FloatMatrix, Dims('pushed', LINK_SIZE, unit='kg; m; kg m²')]
    """Mass of the link, its centre of mass in the body's frame, LEAST_INERTIA."""
    frame: Annotated[FloatMatrix, Dims('pushed', 12, unit='1; m')]
    """The link's frame in its body: rotation by rows, origin."""
    joint: Annotated[IntVector, Dims('pushed', points_at='nv')]
    """Joint for a fluid force, -1 for none."""
    other: Annotated[IntVector, Dims('pushed', points_at='nb')]
    """Body bearing a rotor's torque, -1 for none."""
    fluid_at: Annotated[IntVector, Dims('pushed', points_at='field_values')]
    """The row's first place in `fluid`; fluid forces only."""
    fluid: Annotated[FloatVector, Dims('field_values', unit='SI')]
    """Fluid force parameters, row by row."""
    sample: Annotated[FloatMatrix, Dims('pushed', SAMPLE_SIZE, unit='m; m/s; N')]
    """For functions: PLACE and MOTION of the centre of mass, PUSH; world axes."""
    wind: Annotated[FloatVector, Dims(3, unit='m/s')]
    """The world's wind at the time NOW: the sum of the WIND fields."""
    point: Annotated[FloatVector, Dims(6, unit='m; m/s²')]
    """Entries ASKED, FALL."""


def no_fields() -> Fields:
    """Return the fields part of a world without fields."""
    return make(Fields, {'nf': 0, 'pushed': 0, 'field_values': 0})
