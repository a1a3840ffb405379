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

# columns in Fields.law
FIELD_SIZE = 10
ACCELERATION = 3  # UNIFORM: force [N] from 0 on, acceleration [m/s²]
CENTER, STRENGTH, POWER, PER_MASS = 0, 3, 4, 5  # POINT: [m; N or m/s² at 1 m; 1; 1 per mass]
WIND, GUST, GUST_RATE = 0, 3, 6  # DRAG: velocities [m/s], [rad/s]
LINEAR_DRAG, QUADRATIC_DRAG, ANGULAR_DRAG = 7, 8, 9  # N s/m, N s²/m², N m s

# columns in Fields.link: mass, centre of mass, least principal moment of inertia
LEAST_INERTIA = 4
LINK_SIZE = 5
# columns in Fields.sample
PLACE, MOTION, PUSH = 0, 3, 6
SAMPLE_SIZE = 9
# entries in Fields.call: stage address, 0 without fields; callback address for Python
# functions, 0 without any; 1 if one of these functions is gravity
STAGE, CALLBACK, HAS_GRAVITY = range(3)
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

    call: Annotated[IntVector, Dims(3)]
    """Entries STAGE, CALLBACK, HAS_GRAVITY."""
    time: Annotated[FloatVector, Dims(2, unit='s')]
    """Entries START, NOW."""
    kind: Annotated[IntVector, Dims('nf')]
    """UNIFORM, POINT, DRAG or FUNCTION."""
    law: Annotated[FloatMatrix, Dims('nf', FIELD_SIZE, unit='SI')]
    """Parameters of the fields."""
    of: Annotated[IntVector, Dims('pushed', points_at='nf')]
    """Field of each row."""
    body: Annotated[IntVector, Dims('pushed', points_at='nb')]
    """Body of the row's link."""
    link: Annotated[FloatMatrix, Dims('pushed', LINK_SIZE, unit='kg; m; kg m²')]
    """Mass of the link, its centre of mass in the body's frame, LEAST_INERTIA."""
    sample: Annotated[FloatMatrix, Dims('pushed', SAMPLE_SIZE, unit='m; m/s; N')]
    """For functions: PLACE and MOTION of the centre of mass, PUSH; world axes."""
    point: Annotated[FloatVector, Dims(6, unit='m; m/s²')]
    """Entries ASKED, FALL."""


def no_fields() -> Fields:
    """Return the fields part of a world without fields."""
    return make(Fields, {'nf': 0, 'pushed': 0})
