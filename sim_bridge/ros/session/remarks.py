"""Remarks on a loaded robot for the log: its base, and its parts without simulation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sim_bridge.description.mechanism.base import base_of
from sim_bridge.description.sensor_kinds import NAVSAT

if TYPE_CHECKING:
    import sim_bridge as sb


def base_text(robot: sb.Robot, setting: str) -> str:
    """
    Return a robot's base, with the reason if it follows from the rule for nodes.

    setting: the value of `base`.
    """
    if robot.description is not None:
        base = base_of(robot.description, setting)
        if base.is_fixed == robot.fixed_base:
            return str(base)
    return f'{"fixed" if robot.fixed_base else "free"} base'


def left_out_text(robot: sb.Robot) -> str:
    """Return the parts of a robot's file without simulation, one a line; '' for none."""
    report = None if robot.description is None else robot.description.report
    if report is None or not report.not_simulated:
        return ''
    lines = replace(report, findings=report.not_simulated).lines()
    return '\n'.join([f'robot {robot.name!r} is simulated without:', *lines])


def missing_place_text(robot: sb.Robot) -> str:
    """Return a remark on receivers without a place on the Earth; '' for none."""
    names = [
        repr(device.name)
        for device in robot.devices()
        if device.kind is NAVSAT
        and device.description.settings.origin is None
        and robot.world.origin is None
    ]
    if not names:
        return ''
    return (
        f'robot {robot.name!r}: the place of the world on the Earth is not known, so the fixes of '
        f'{", ".join(names)} have STATUS_NO_FIX; set the parameters origin.latitude and '
        "origin.longitude, or origin.file to a Gazebo world, or a scene's key origin"
    )
