"""Sliders for commanding joints by hand."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import viser

from sim_bridge.page.channel import Frame
from sim_bridge.page.layer import Context, PlainLayer
from sim_bridge.page.poses import Poses
from sim_bridge.page.records import JointRecord, Notice, Structure
from sim_bridge.page.widgets import in_order, set_value

_MEASURED = 'measured'
# slider range for joints without limits
_GREATEST = {'position': 2.0 * np.pi, 'servo': 2.0 * np.pi, 'velocity': 10.0, 'effort': 100.0}
_STEPS = 200
_EVERY = 6  # frames


class JointsLayer(PlainLayer):
    """Layer with a slider for each robot joint, showing its measured value or its command."""

    def __init__(self, context: Context):
        """Add the widgets."""
        super().__init__(context)
        gui = self.server.gui
        self._structure: Structure | None = None
        self._tab, self._say = context.joints, context.say
        with context.joints:
            self._robot = gui.add_dropdown('Robot', ('—',))
            self._control = gui.add_dropdown(
                'Command', (_MEASURED,), hint='Quantity commanded by the sliders; measured: none'
            )
        self._robot.on_update(in_order(lambda _: self._renew()))
        self._control.on_update(in_order(lambda _: self._choose()))
        self._sliders: list[tuple[JointRecord, Any]] = []
        self._is_stale = self._can_release = False
        self._count = 0

    def show(self, structure: Structure) -> None:
        """List the robots with joints."""
        self._structure = structure
        robots = tuple(dict.fromkeys(joint.robot for joint in structure.joints)) or ('—',)
        before = self._robot.value
        self._robot.options = robots
        set_value(self._robot, before if before in robots else robots[0])
        controls = tuple(
            dict.fromkeys(control for joint in structure.joints for control in joint.controls)
        )
        commands = controls if 'command' in structure.abilities else ()
        self._can_release = 'release' in structure.abilities
        self._control.options = (_MEASURED, *commands)
        self._is_stale = True

    def update(self, frame: Frame, poses: Poses) -> None:
        """Show positions, unless the sliders are for commands."""
        if self._is_stale:
            self._is_stale = False
            self._make(frame)
        self._count += 1
        if self._control.value == _MEASURED and self._count % _EVERY == 0:
            for joint, slider in self._sliders:
                value = round(float(frame.q[joint.row]), 4)
                if slider.value != value:
                    slider.min, slider.max = min(slider.min, value), max(slider.max, value)
                    slider.value = value

    def _renew(self) -> None:
        self._is_stale = True

    def _choose(self) -> None:
        """Rebuild the sliders; without a command, release the robot."""
        if self._control.value == _MEASURED and self._can_release:
            self.ask('release', robot=self._robot.value)
        self._renew()

    def _make(self, frame: Frame) -> None:
        """Add the chosen robot's sliders."""
        for _, slider in self._sliders:
            slider.remove()
        self._sliders = []
        assert self._structure is not None
        control = self._control.value
        for joint in self._structure.joints:
            if joint.robot != self._robot.value:
                continue
            low, high = _range(joint, control)
            value = (
                float(frame.q[joint.row]) if control in (_MEASURED, 'position', 'servo') else 0.0
            )
            low, high = min(low, value), max(high, value)
            with self._tab:
                slider = self.server.gui.add_slider(
                    joint.name,
                    low,
                    high,
                    (high - low) / _STEPS,
                    value,
                    disabled=control == _MEASURED,
                )
            slider.on_update(
                in_order(
                    self._explain
                    if control == _MEASURED
                    else partial(self._command, joint, control)
                )
            )
            self._sliders.append((joint, slider))

    def _explain(self, event: viser.GuiEvent[Any]) -> None:
        """Explain why nothing moves: the number fields beside sliders always accept input."""
        if event.client is not None:
            self._say(
                Notice(
                    'warning',
                    'Sliders show measured values. To move joints, choose a command above them.',
                )
            )

    def _command(self, joint: JointRecord, control: str, event: viser.GuiEvent[Any]) -> None:
        if event.client is not None:
            self.ask(
                'command',
                robot=joint.robot,
                joint=joint.name,
                control=control,
                value=float(event.target.value),
            )


def _range(joint: JointRecord, control: str) -> tuple[float, float]:
    """Return a slider's range."""
    greatest = _GREATEST.get(control, 2.0 * np.pi)
    limit = {'velocity': joint.velocity, 'effort': joint.effort}.get(control)
    if limit is not None:
        greatest = limit if np.isfinite(limit) and limit > 0.0 else greatest
        return -greatest, greatest
    low = joint.lower if np.isfinite(joint.lower) else -greatest
    high = joint.upper if np.isfinite(joint.upper) else greatest
    return (low, high) if high > low else (low - 1e-3, low + 1e-3)
