"""Plugin effects from a robot's file: force fields, and joints following targets."""

from __future__ import annotations

from sim_bridge.description.fluid_forces import Rotor, Thruster
from sim_bridge.description.force_fields import Wind
from sim_bridge.description.plugin_inputs import JointInput
from sim_bridge.robots.robot import Robot
from sim_bridge.simulation.force_fields import Placement


def add_plugin_effects(robot: Robot) -> None:
    """
    Add the fields in a robot's description, and let the commanded joints follow targets.

    A world has one wind: a robot's wind is left out if there is one.
    """
    slot, registry, placed = robot.slot, robot.simulation.registry, {}
    has_wind = any(isinstance(each.field, Wind) for each in registry.fields.placed.values())
    for each in slot.description.force_fields:
        is_wind = isinstance(each.field, Wind)
        if is_wind and has_wind:
            continue
        own = tuple(slot.link(name) for name in each.links) or tuple(slot.links)
        links = None if is_wind else own
        placed[f'{slot.name}/{each.name}'] = Placement(each.field, links, slot.name)
        if isinstance(each.field, (Rotor, Thruster)):
            robot.joint(each.field.joint).control = 'velocity'
    if placed:
        registry.set_fields(registry.fields.placed | placed, registry.fields.gravity)
    for entry in slot.description.inputs:
        if isinstance(entry, JointInput):
            _let_follow(robot, entry)


def _let_follow(robot: Robot, entry: JointInput) -> None:
    """Set control and target for an input's joints."""
    for name in entry.joints:
        joint = robot.joint(name)
        if entry.quantity == 'velocity':
            joint.control, joint.target_velocity = 'velocity', entry.initial
            continue
        joint.control = 'position' if entry.gains is None else 'servo'
        if entry.gains is not None:
            joint.kp, joint.kd = entry.gains
        joint.target_position = entry.initial
