"""gripper_action_controller and parallel_gripper_action_controller: goals for one joint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math
from typing import Any, NamedTuple, TYPE_CHECKING

from sim_bridge.description.controller_settings import EFFORT as BY_EFFORT
from sim_bridge.description.controller_settings import GripperSettings
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError
from sim_bridge.ros.command.command_table import EFFORT, POSITION
from sim_bridge.ros.command.controllers import gains_of
from sim_bridge.ros.command.grip import CANCELED, ENDED, Grip, REACHED, STALLED
from sim_bridge.ros.command.inputs import InputNote
from sim_bridge.ros.command.joint_targets import JointTargets
from sim_bridge.ros.command.programs import Context, PROGRAM_INPUT, StateTopic, Topic
from sim_bridge.ros.wire.qos import optional_messages

if TYPE_CHECKING:
    from sim_bridge.ros.command.controller_states import DeclaredController
    from sim_bridge.ros.command.programs import Monitored
    from sim_bridge.ros.process.guarded_node import GuardedMixin


class SavedGripper(NamedTuple):
    """State of a GripperController; age_ns: time since the last motion [ns]."""

    position: float
    max_effort: float
    integral: float
    age_ns: int


class GripperController:
    """Moves one joint to the position of the latest goal, and judges success and stalling."""

    def __init__(
        self, declared: DeclaredController, settings: GripperSettings, context: Context
    ) -> None:
        """Prepare to take goals."""
        self.declared, self.settings, self._context = declared, settings, context
        self.targets = JointTargets(context.robot, context.commands, settings.joints)
        (self._column,) = self.targets.columns.tolist()
        self._gains = gains_of(settings.gains)
        self.topics: list[Topic] = []
        self.state_topics: list[StateTopic] = []
        self._goal: Grip | None = None
        self._latest = 0
        self._position, self._max_effort, self._integral = 0.0, 0.0, 0.0
        self._moved_ns = 0

    @property
    def name(self) -> str:
        """Name of the controller."""
        return self.declared.name

    @property
    def state(self) -> tuple[float, float]:
        """Present position [rad or m] and effort [N m or N]."""
        robot, k = self._context.robot, self._column
        return float(robot.q[k]), float(robot.u[k] + robot.motor_efforts[k])

    def check(self, position: float, max_effort: float) -> None:
        """
        Raise InvalidValueError for values that are not finite, StateError while inactive.

        position: [rad or m]. max_effort: [N m or N].
        """
        try:
            self._context.states.check_active(self.declared.name)
            for name, value in (('position', position), ('max_effort', max_effort)):
                if not math.isfinite(value):
                    place = f'goal of controller {self.declared.name!r}'
                    raise InvalidValueError(name, value, 'a finite number', place)
        except SimBridgeError:
            self._context.commands.counts.rejected += 1
            raise

    def grip(self, position: float, max_effort: float) -> Grip:
        """
        Move to a position from the next control step on; on the executor's thread.

        max_effort: limit of the effort [N m or N], for a gripper controlled by effort. Both are
        checked, see `check`.
        """
        self._latest += 1
        goal = Grip(self._latest, position, max_effort)
        self._context.commands.queue.submit(
            lambda: self._obey(goal),
            self._note(position=position, max_effort=max_effort),
            lambda: self._finish(goal, ENDED, 'commands were dropped'),
        )
        self._context.commands.counts.accepted += 1
        return goal

    def cancel(self, number: int) -> None:
        """End a goal at the next control step, and hold the position reached."""
        self._context.commands.queue.submit(
            lambda: self._cancel(number), self._note(cancel=number)
        )

    def feed(self, values: Mapping[str, Any]) -> None:
        """Take a goal recorded in another run, or its end."""
        if 'cancel' in values:
            self.cancel(values['cancel'])
        else:
            self.grip(values['position'], values['max_effort'])

    # --- control steps ---------------------------------------------------------------------------

    def begin(self) -> None:
        """Hold the present position, unless it already acts."""
        if self._context.states.is_active(self.declared.name) and not self.targets.is_active:
            self._hold()

    def advance(self, time_ns: int) -> None:
        """Judge the goal, and command the joint."""
        goal = self._goal
        if not self.targets.is_active:
            if goal is not None:
                self._finish(goal, ENDED, 'something else commanded its joint')
            return
        robot, k = self._context.robot, self._column
        error, speed = self._position - float(robot.q[k]), float(robot.dq[k])
        if goal is not None:
            self._judge(goal, error, speed, time_ns)
        if self.settings.quantity == BY_EFFORT:
            self._integral = self._gains.integrated(self._integral, error, self._context.step)
            effort = self._gains.command(0.0, error, -speed, self._integral)
            most = abs(self._max_effort)
            self.targets.set(EFFORT, k, min(max(effort, -most), most))
        else:
            self.targets.set(POSITION, k, self._position)
        self.targets.write()

    def _judge(self, goal: Grip, error: float, speed: float, time_ns: int) -> None:
        settings = self.settings
        if abs(error) < settings.goal_tolerance:
            self._finish(goal, REACHED, '')
        elif abs(speed) > settings.stall_velocity:
            self._moved_ns = time_ns
        elif (time_ns - self._moved_ns) * 1e-9 > settings.stall_timeout:
            self._finish(goal, STALLED, f'stalled {abs(error):.3g} off the position')

    def _obey(self, goal: Grip) -> None:
        """Follow a goal; on the physics thread."""
        if not self._context.states.is_active(self.declared.name):
            self._finish(goal, ENDED, 'the controller was deactivated')
            return
        if self._goal is not None:
            self._finish(self._goal, ENDED, 'another goal came')
        self._command(goal.position, goal.max_effort)
        self._goal, self._moved_ns = goal, self._context.commands.queue.time_ns

    def _cancel(self, number: int) -> None:
        if self._goal is not None and self._goal.number == number:
            self._finish(self._goal, CANCELED, 'canceled')
            self._hold()

    def _hold(self) -> None:
        position, _ = self.state
        self._command(position, self.settings.max_effort)

    def _command(self, position: float, max_effort: float) -> None:
        if not self.targets.is_active:
            self._integral = 0.0
            self.targets.start()
        self._position, self._max_effort = position, max_effort

    def _finish(self, goal: Grip, outcome: str, words: str) -> None:
        if self._goal is goal:
            self._goal = None
        goal.words, goal.ended_at = words, self.state
        # last, because the executor takes the outcome as a sign that everything is set
        goal.outcome = outcome

    def end(self) -> None:
        """Release the joint, and end the goal."""
        if self._goal is not None:
            self._finish(self._goal, ENDED, 'the controller was deactivated')
        self.targets.end()

    # --- graph and snapshots ---------------------------------------------------------------------

    def serve(self, node: GuardedMixin, full: Callable[[str], str]) -> list[Monitored]:
        """Create the action gripper_cmd, if control_msgs has it."""
        kind = 'ParallelGripperCommand' if self.settings.is_parallel else 'GripperCommand'
        action = getattr(optional_messages('control_msgs', 'action'), kind, None)
        if action is None:
            return []
        # imported here, since it loads all of rclpy's actions
        from sim_bridge.ros.command.gripper_command import GripperCommand

        return [GripperCommand(node, action, full(self.declared.topic('gripper_cmd')), self)]

    def save(self, time_ns: int) -> SavedGripper:
        """Return the state for `restore`."""
        age_ns = time_ns - self._moved_ns
        return SavedGripper(self._position, self._max_effort, self._integral, age_ns)

    def restore(self, saved: SavedGripper, time_ns: int) -> None:
        """Return to a saved state; the goal ends."""
        self.restart(time_ns, 'a snapshot was restored')
        self._position, self._max_effort, self._integral, age_ns = saved
        self._moved_ns = time_ns - age_ns

    def restart(self, time_ns: int, reason: str) -> None:
        """End the goal."""
        if self._goal is not None:
            self._finish(self._goal, ENDED, reason)

    def _note(self, **values: Any) -> InputNote:
        robot, name = self._context.robot.name, self.declared.name
        return InputNote(PROGRAM_INPUT, {'robot': robot, 'controller': name, **values})
