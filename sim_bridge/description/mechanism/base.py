"""Base of a robot: fixed to the world or free, and the reason."""

from __future__ import annotations

from dataclasses import dataclass

from sim_bridge.description.formats import SDF
from sim_bridge.description.mechanism.tree import parents_first
from sim_bridge.description.model import JointType, RobotDescription
from sim_bridge.foundation.deprecation import warn_renamed
from sim_bridge.foundation.validation import one_of, truth_or_none

FILE, AUTO, FIXED, FREE = BASES = ('file', 'auto', 'fixed', 'free')
"""Values of the setting `base`."""

# fewer joints in a single limb are a door or a pendulum rather than an arm
_LEAST_ARM = 3
_HOW_TO_FREE = 'base:=free lets it go'
_HOW_TO_HOLD = 'base:=fixed holds it'


@dataclass(frozen=True)
class Base:
    """Base of a robot. reason: as text, with the setting for the other choice."""

    is_fixed: bool
    reason: str

    def __str__(self) -> str:
        """Return kind and reason."""
        return f'{"fixed" if self.is_fixed else "free"} base, since {self.reason}'


def given_base(base: str | bool | None, fixed_base: bool | None) -> str:
    """
    Return the value of `base` for a function with the former argument `fixed_base`.

    base: also true, false or None, once the third argument `fixed_base`. Warns the caller of that
    function. Raises InvalidValueError for other values.
    """
    former = fixed_base if fixed_base is not None or not isinstance(base, bool) else base
    former = truth_or_none('fixed_base', former)
    if former is None:
        return one_of('base', FILE if base is None else base, BASES)
    new = FIXED if former else FREE
    warn_renamed(f'fixed_base={former}', f'base={new!r}', level=2)
    return new


def base_of(description: RobotDescription, base: str = AUTO) -> Base:
    """
    Return a robot's base.

    base: 'fixed' or 'free'; 'file': fixed if the file says so, by a root link 'world' or a welded
    root; 'auto': fixed as well are arms (one limb of at least three joints), grippers (limbs below
    a root without collision) and roots without mass. Robots with wheels, tracks or several legs
    stay free.
    """
    if not description.links:
        return Base(True, 'it has no links')
    if base in (FIXED, FREE):
        is_fixed = base == FIXED
        return Base(is_fixed, f'as set by the user{_fall(description, is_fixed)}')
    if description.is_welded:
        return Base(True, 'the file fixes its root link')
    if description.fixed_base:
        return Base(True, f'its root link is {description.root!r}')
    why = _reason_to_hold(description) if base == AUTO else ''
    if why:
        return Base(True, f'{why}; {_HOW_TO_FREE}')
    reason = f'nothing fixes its root link {description.root!r}; {_HOW_TO_HOLD}'
    return Base(False, f'{reason}{_fall(description, False)}')


def _fall(description: RobotDescription, is_fixed: bool) -> str:
    """Return a remark on a free robot without collision shapes; '' for others."""
    shapes = [each for link in description.links.values() for each in link.collisions]
    if is_fixed or any(each.kind != 'mesh' or each.surface or each.path for each in shapes):
        return ''
    missing = 'whose file is there' if shapes else ''
    return f'; it has no collision shape {missing}'.rstrip() + ', so it falls without end'


def _reason_to_hold(description: RobotDescription) -> str:
    """Return the reason for holding the root of an arm or a gripper; '' for a free base."""
    limbs = _limbs(description)
    if not limbs.has_root_mass:
        return f'its root link {description.root!r} has no mass'
    if description.format == SDF.name:
        # SDF declares a fixed base: by a joint to the world, or as a static model
        return ''
    if not limbs.joints or limbs.floats or description.drives or description.crawlers:
        return ''
    longest = max(limbs.joints.values())
    if len(limbs.joints) == 1 and longest >= _LEAST_ARM:
        return f'it is an arm: one limb of {longest} joints'
    has_collision = any(link.collisions for link in description.links.values())
    is_gripper = has_collision and not limbs.has_root_collision and longest < _LEAST_ARM
    if not is_gripper or limbs.rolls:
        return ''
    return f'its root link {description.root!r} has no collision shape'


@dataclass
class _Limbs:
    """
    Limbs of a robot.

    joints: number of movable joints, by the first joint of each limb. floats: whether a joint has
    no axis. rolls: whether a limb begins with a wheel. has_root_mass, has_root_collision: whether
    a link rigidly joined to the root has mass or a collision shape.
    """

    joints: dict[str, int]
    floats: bool = False
    rolls: bool = False
    has_root_mass: bool = False
    has_root_collision: bool = False


def _limbs(description: RobotDescription) -> _Limbs:
    limb = {description.root: ''}
    limbs = _Limbs({})
    for joint in parents_first(description):
        above = limb[joint.parent]
        if joint.type is JointType.FIXED:
            limb[joint.child] = above
            continue
        own = limb[joint.child] = above or joint.name
        limbs.joints[own] = limbs.joints.get(own, 0) + 1
        limbs.floats |= joint.type in (JointType.FLOATING, JointType.PLANAR)
        if not above and joint.type is JointType.CONTINUOUS:
            limbs.rolls |= bool(description.links[joint.child].collisions)
    body = [description.links[name] for name, own in limb.items() if not own]
    limbs.has_root_collision = any(link.collisions for link in body)
    limbs.has_root_mass = any(link.inertial and link.inertial.mass > 0.0 for link in body)
    return limbs
