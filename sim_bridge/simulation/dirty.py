"""Which parts of a simulation are out of date."""

from __future__ import annotations

from enum import auto, IntFlag


class Dirty(IntFlag):
    """The parts of a simulation that are not up to date."""

    PARTS = auto()
    """The arrays of robots and joints: robots or joints were added, removed or compiled anew."""
    MEDIUM = auto()
    """The model's media: that of a link was changed."""
    GEOMETRY = auto()
    """The arrays of geometries: some were added or removed, or other pairs are excluded."""
    CONTACT_MATERIALS = auto()
    """The table of materials."""
    CONTACTS = auto()
    """The handle for contacts: arrays are others."""
    OBSERVER = auto()
    """The call that observes: arrays are others."""
    STEPPER = auto()
    """The call that steps: arrays are others."""
    JOINT_VELOCITIES = auto()
    """Velocities: joints were added that do not allow all of them."""
    OBSERVATION = auto()
    """What was observed of the state."""
    INITIAL = auto()
    """The joined state that `reset` goes back to."""
    LOOP_FORCES = auto()
    """The last step's forces of constraints, which are others now."""
    PUSHES = auto()
    """The external wrenches, which act in the next step only."""
    APPLIED = auto()
    """What acted in the last step: it has left that in its workspace."""


# Plain integers, since operations on flags are slow.
PARTS, MEDIUM, GEOMETRY, CONTACT_MATERIALS, CONTACTS, OBSERVER, STEPPER = (
    each.value for each in list(Dirty)[:7]
)
JOINT_VELOCITIES, OBSERVATION, INITIAL, LOOP_FORCES, PUSHES, APPLIED = (
    each.value for each in list(Dirty)[7:]
)
ROBOT_ARRAYS = PARTS | MEDIUM
ALL_ARRAYS = ROBOT_ARRAYS | GEOMETRY | CONTACT_MATERIALS | CONTACTS
TO_OBSERVE = ROBOT_ARRAYS | OBSERVER | OBSERVATION
TO_STEP = ALL_ARRAYS | STEPPER | JOINT_VELOCITIES
AT_FIRST = sum(
    each.value
    for each in Dirty
    if each not in (Dirty.JOINT_VELOCITIES, Dirty.PUSHES, Dirty.APPLIED)
)
"""What is out of date in a simulation that has nothing yet."""
