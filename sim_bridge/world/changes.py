"""Changes to entities in a running world; see `description.scene.changes`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sim_bridge.description.scene.changes import changes_from_text, check, EntityChange, LinkChange
from sim_bridge.foundation.errors import UnknownNameError
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.link import Link
from sim_bridge.robots.robot import Robot
from sim_bridge.simulation.rollback import all_or_nothing
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.world.scene import Additions, set_rest
from sim_bridge.world.scene_joints import link_of, set_joint


def apply_changes(
    robots: Mapping[str, Robot], simulation: Simulation, text: str, what: str
) -> tuple[EntityChange, ...]:
    """Apply all changes in a YAML text, or none; raise InvalidValueError with all errors."""
    changes = changes_from_text(text, what)
    shown = [robot.geometries for robot in robots.values()]
    shown += [link.geometries for robot in robots.values() for link in robot.links]
    kept, additions = [list(each) for each in shown], Additions()
    try:
        with all_or_nothing(simulation):
            for change in changes:
                additions.attempt(change.own.place, partial(_change, robots, change, additions))
            check(additions.findings, text, what)
            for change in changes:
                _finish(robots[change.name], change)
    except BaseException:
        for each, before in zip(shown, kept, strict=True):
            each[:] = before
        raise
    return changes


def _change(robots: Mapping[str, Robot], change: EntityChange, additions: Additions) -> None:
    if change.name not in robots:
        raise UnknownNameError('entity', change.name, robots, 'the world')
    robot = robots[change.name]
    set_rest(robot, change.own, additions)
    for part in change.links:
        additions.attempt(part.values.place, partial(_change_link, robots, robot, part, additions))
    for name, joint in change.joints.items():
        additions.attempt(
            joint.own.place,
            partial(
                lambda name, joint: set_joint(robot.joint(name), joint, additions.set_all),
                name,
                joint,
            ),
        )


def _change_link(
    robots: Mapping[str, Robot], robot: Robot, change: LinkChange, additions: Additions
) -> None:
    """Change a link: shapes first, because they may set the mass."""
    if change.name is None and not (
        change.values.items or change.mass.items or change.shapes or change.density
    ):
        return
    link = link_of(robots, robot.name) if change.name is None else robot.link(change.name)
    for shape in change.shapes:
        if shape.added is not None:
            link.add_geometry(shape.added)
            continue
        geometry = _shape(link, shape.name)
        if shape.is_removed:
            geometry.remove()
            continue
        additions.set_all(geometry, shape.values)
        if shape.heights is not None:
            geometry.set_heights(*shape.heights)
    if change.density is not None:
        link.update_mass_properties(density=change.density)
    additions.set_all(link, change.mass)
    additions.set_all(link, change.values)


def _shape(link: Link, name: str) -> Geometry:
    known = {geometry.name: geometry for geometry in link.geometries}
    if name not in known:
        raise UnknownNameError('shape', name, known, f'link {link.name!r}')
    return known[name]


def _finish(robot: Robot, change: EntityChange) -> None:
    """Enable or disable a robot; last, because every write to a robot wakes it."""
    disabled = change.own.items.get('disabled')
    if disabled is not None:
        (robot.disable if disabled else robot.enable)()
