"""Fields of force: their laws, and the links that they act on."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntVector
from sim_bridge.engine.data.parts import Dims, make

# Fields.kind
UNIFORM = 0
POINT = 1
DRAG = 2
FUNCTION = 3  # a function of Python, which writes Fields.sample

# columns of Fields.law
FIELD_SIZE = 10
ACCELERATION = 3  # UNIFORM: force [N] from 0 on, acceleration [m/s²]
CENTER, STRENGTH, POWER, PER_MASS = 0, 3, 4, 5  # POINT: [m; N or m/s² at 1 m; 1; 1 per mass]
WIND, GUST, GUST_RATE = 0, 3, 6  # DRAG: velocities [m/s], [rad/s]
LINEAR_DRAG, QUADRATIC_DRAG, ANGULAR_DRAG = 7, 8, 9  # N s/m, N s²/m², N m s

# columns of Fields.link: mass, centre of mass, least principal moment of inertia
LEAST_INERTIA = 4
LINK_SIZE = 5
# columns of Fields.sample
PLACE, MOTION, PUSH = 0, 3, 6
SAMPLE_SIZE = 9
# entries of Fields.call: the stage of fields, 0 where there are none; the function that calls
# those of Python, 0 where there are none; 1 where one of them is gravity
STAGE, CALLBACK, HAS_GRAVITY = range(3)
# entries of Fields.time: of the start of a step or the state observed, of the evaluation
START, NOW = range(2)
# entries of Fields.point: where gravity is asked for, and what it is there
ASKED, FALL = 0, 3

# how the stage of fields is called: in a step, or at an instant
IN_STEP, AT_INSTANT = range(2)
# how the callback is called
FORCES, GRAVITY = range(2)
# what a stage returns where a function of Python has raised
FAILED = -2


class Fields(NamedTuple):
    """Fields of force, and one row for each link that one acts on."""

    call: Annotated[IntVector, Dims(3)]
    """STAGE, CALLBACK, HAS_GRAVITY."""
    time: Annotated[FloatVector, Dims(2, unit='s')]
    """START, NOW."""
    kind: Annotated[IntVector, Dims('nf')]
    """UNIFORM, POINT, DRAG or FUNCTION."""
    law: Annotated[FloatMatrix, Dims('nf', FIELD_SIZE, unit='SI')]
    """Their parameters."""
    of: Annotated[IntVector, Dims('pushed', points_at='nf')]
    """The field of a row."""
    body: Annotated[IntVector, Dims('pushed', points_at='nb')]
    """The body of its link."""
    link: Annotated[FloatMatrix, Dims('pushed', LINK_SIZE, unit='kg; m; kg m²')]
    """Mass of the link, its centre of mass in the body's frame, LEAST_INERTIA."""
    sample: Annotated[FloatMatrix, Dims('pushed', SAMPLE_SIZE, unit='m; m/s; N')]
    """For functions: PLACE and MOTION of the centre of mass, PUSH; world axes."""
    point: Annotated[FloatVector, Dims(6, unit='m; m/s²')]
    """ASKED, FALL."""


def no_fields() -> Fields:
    """Return the part of a world without fields."""
    return make(Fields, {'nf': 0, 'pushed': 0})
