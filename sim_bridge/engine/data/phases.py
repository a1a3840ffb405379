"""
Phase numbers: the part of the work that one call of a stage does.

There is one enumeration for each stage with several calls per step: contacts, user contacts,
constraints, actuators, momentum.
"""

from enum import IntEnum


class ContactPhase(IntEnum):
    """
    Contact stage phases, in the order of a step.

    From OPEN_LAWS to CLOSE_LAWS, BUILD and SOLVE treat joint laws as additional contacts, see
    `contact.law_rows`.
    """

    PREPARE = 0
    BUILD = 1
    SOLVE = 2
    OPEN_LAWS = 3
    CLOSE_LAWS = 4
    PROJECT_POSITIONS = 5
    KEEP = 6


class UserContactPhase(IntEnum):
    """User contact stage phases."""

    ADD = 0
    SET_LAWS = 1


class LoopPhase(IntEnum):
    """
    Constraint stage phases: for a step, for an observation, and two others.

    OBEY begins an acceleration evaluation; OBEY_MORE adds the correction needed after
    contacts. REBUILD follows axes whose laws were solved with contacts. ASSEMBLE and BEGIN are for
    new joints.
    """

    PREPARE = 0
    BUILD = 1
    OBEY = 2
    OBEY_MORE = 3
    SWITCH = 4
    REBUILD = 5
    FOLLOW_SHIFT = 6
    CLOSE = 7
    KEEP = 8
    BUILD_PRESENT = 9
    OBEY_PRESENT = 10
    REACT_PRESENT = 11
    ASSEMBLE = 12
    BEGIN = 13


class ActuatorPhase(IntEnum):
    """
    Actuator stage phases: for a step, then for an observation.

    EVALUATE computes the forces and applies wrenches at places; SET adds the forces to the joint
    laws.
    """

    EVALUATE = 0
    SET = 1
    SWITCH = 2
    KEEP = 3
    EVALUATE_PRESENT = 4
    SET_PRESENT = 5


class MomentumPhase(IntEnum):
    """Momentum stage phases, in the order of a step."""

    START = 0
    ADD_UP = 1
    END = 2
