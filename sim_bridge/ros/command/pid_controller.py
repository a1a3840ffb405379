"""pid_controller: a PID law from measured to reference values, at each control step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import math
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np
from std_srvs.srv import SetBool

from sim_bridge.description.controller_settings import PidSettings
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError, UnknownNameError
from sim_bridge.foundation.names import counted
from sim_bridge.ros.command.command_table import POSITION, QUANTITIES
from sim_bridge.ros.command.controllers import gains_of
from sim_bridge.ros.command.inputs import InputNote
from sim_bridge.ros.command.joint_targets import JointTargets
from sim_bridge.ros.command.programs import Context, PROGRAM_INPUT, StateTopic, Topic
from sim_bridge.ros.wire.cdr import deserialize
from sim_bridge.ros.wire.messages import unpack_stamp
from sim_bridge.ros.wire.qos import optional_messages
from sim_bridge.trajectory.gains import Gains

if TYPE_CHECKING:
    from sim_bridge.foundation.arrays import FloatArray
    from sim_bridge.ros.command.controller_states import DeclaredController
    from sim_bridge.ros.command.inputs import Message
    from sim_bridge.ros.process.guarded_node import GuardedMixin

_GREATEST = 1e9


class SavedPid(NamedTuple):
    """State of a PidController."""

    values: tuple[FloatArray, ...]
    uses_feedforward: bool


class PidController:
    """
    Follows references with its gains; on activation the reference is the present state.

    reference, measured: (2, k) values and rates. Errors of angles wrap where the gains say so.
    """

    def __init__(
        self, declared: DeclaredController, settings: PidSettings, context: Context
    ) -> None:
        """Prepare to take references."""
        self.declared, self.settings, self._context = declared, settings, context
        self.targets = JointTargets(context.robot, context.commands, settings.joints)
        names = list(context.robot.joint_names)
        self._sources = np.array([names.index(joint) for joint in settings.sources], int)
        given = [settings.gains.get(joint) for joint in settings.joints]
        self._gains = [Gains() if each is None else gains_of(each) for each in given]
        self._wraps = [each is not None and each.wraps for each in given]
        self._feedforward = [0.0 if each is None else each.feedforward or 0.0 for each in given]
        self._uses_feedforward = settings.uses_feedforward
        k = len(settings.joints)
        self._reference, self._measured = np.zeros((2, k)), np.full((2, k), np.nan)
        self._error, self._rate = np.full(k, np.nan), np.zeros(k)
        self._integral, self._output = np.zeros(k), np.zeros(k)
        messages = optional_messages('control_msgs')
        command = getattr(messages, 'MultiDOFCommand', None)
        state, part = (
            getattr(messages, name, None) for name in ('MultiDOFStateStamped', 'SingleDOFState')
        )
        self.topics, self.state_topics = [], []
        if command is not None:
            self.topics = self._command_topics(command)
        if state is not None:
            message = PidState(self, state, part)
            self.state_topics = [StateTopic(declared.topic('controller_state'), state, message)]

    def _command_topics(self, kind: type) -> list[Topic]:
        def topic(name: str, act: Callable[[FloatArray], None]) -> Topic:
            def take(data: bytes, source: Message) -> None:
                self._take(deserialize(data, kind), act, source)

            return Topic(self.declared.topic(name), kind, take)

        topics = [topic('reference', self._obey)]
        if self.settings.is_measured_outside:
            topics.append(topic('measured_state', self._measure))
        return topics

    @property
    def name(self) -> str:
        """Name of the controller."""
        return self.declared.name

    # --- inputs ----------------------------------------------------------------------------------

    def _take(self, message: Any, act: Callable[[FloatArray], None], source: Message) -> None:
        """Pass the values of a MultiDOFCommand on at the next control step."""
        commands = self._context.commands
        try:
            self._context.states.check_active(self.declared.name)
            values = self._read(message)
        except SimBridgeError:
            commands.counts.rejected += 1
            raise
        commands.queue.submit(lambda: act(values), source)
        commands.timing.arrived(0)
        commands.counts.accepted += 1

    def _read(self, message: Any) -> FloatArray:
        """Return (2, k) values and rates, nan where the message has none."""
        joints = self.settings.sources
        place = f'controller {self.declared.name!r}'
        names = list(message.dof_names) or list(joints)
        for name in names:
            if name not in joints:
                raise UnknownNameError('dof', name, joints, place)
        found = np.full((2, len(joints)), np.nan)
        for row, (key, values) in enumerate(
            (('values', message.values), ('values_dot', message.values_dot))
        ):
            if len(values) != len(names) and (len(values) or not row):
                expected = f'{counted(len(names), "number")}, one for each of {", ".join(names)}'
                raise InvalidValueError(key, list(values), expected, place)
            for name, value in zip(names, values, strict=False):
                if not abs(value) <= _GREATEST:
                    expected = f'finite numbers of at most {_GREATEST:g}'
                    raise InvalidValueError(key, value, expected, f'{place}, dof {name!r}')
                found[row, joints.index(name)] = value
        return found

    def _obey(self, values: FloatArray) -> None:
        if self._context.states.is_active(self.declared.name):
            self.begin()
            given = ~np.isnan(values)
            # a reference without a rate means rest there
            given[1] |= given[0]
            self._reference[given] = np.nan_to_num(values)[given]

    def _measure(self, values: FloatArray) -> None:
        given = ~np.isnan(values)
        self._measured[given] = values[given]

    def set_feedforward(self, is_on: bool) -> None:
        """Switch the feedforward terms at the next control step; on the executor's thread."""

        def switch() -> None:
            self._uses_feedforward = is_on

        note = {
            'robot': self._context.robot.name,
            'controller': self.declared.name,
            'feedforward': is_on,
        }
        self._context.commands.queue.submit(switch, InputNote(PROGRAM_INPUT, note))

    def feed(self, values: Mapping[str, Any]) -> None:
        """Take an input recorded in another run."""
        self.set_feedforward(values['feedforward'])

    # --- control steps ---------------------------------------------------------------------------

    def begin(self) -> None:
        """Make the present state the reference, unless it already acts."""
        if self._context.states.is_active(self.declared.name) and not self.targets.is_active:
            self._reference = np.nan_to_num(self._present())
            self._reference[1] = 0.0
            self._error[:], self._integral[:] = np.nan, 0.0
            self.targets.start()

    def advance(self, time_ns: int) -> None:
        """Command the joints by the errors of the present state."""
        if not self.targets.is_active:
            return
        measured, quantity = self._present(), QUANTITIES.index(self.settings.command)
        error, rates = self._reference - measured, self._reference[1] - measured[1]
        for k, gains in enumerate(self._gains):
            if math.isnan(error[0, k]):
                continue
            now = math.remainder(error[0, k], math.tau) if self._wraps[k] else error[0, k]
            rate = rates[k] if self.settings.has_rate else self._slope(k, now)
            self._integral[k] = gains.integrated(self._integral[k], now, self._context.step)
            ahead = self._feedforward[k] * self._reference[0, k] if self._uses_feedforward else 0.0
            self._error[k], self._rate[k] = now, rate
            self._output[k] = self._limited(k, gains.command(ahead, now, rate, self._integral[k]))
            self.targets.set(quantity, self.targets.columns[k], self._output[k])
        self.targets.write()

    def _slope(self, k: int, error: float) -> float:
        """Return the change of an error since the last control step, per time."""
        before = self._error[k]
        return 0.0 if math.isnan(before) else (error - before) / self._context.step

    def _limited(self, k: int, value: float) -> float:
        """Return a command within the limits of the joint."""
        quantity = QUANTITIES.index(self.settings.command)
        return self._context.commands.queue.limited(quantity, self.settings.joints[k], value)

    def _present(self) -> FloatArray:
        """Return (2, k) measured values and rates."""
        if self.settings.is_measured_outside:
            return self._measured
        robot, at = self._context.robot, self._sources
        values = (robot.q, robot.dq, robot.u)[QUANTITIES.index(self.settings.reference)]
        rates = robot.dq if self.settings.reference == QUANTITIES[POSITION] else robot.ddq
        return np.array([values[at], rates[at]])

    def states(self) -> list[dict[str, Any]]:
        """Return name and numbers of each degree of freedom, for control_msgs/SingleDOFState."""
        measured = self._present()
        return [
            {
                'name': joint,
                'reference': float(self._reference[0, k]),
                'feedback': float(measured[0, k]),
                'feedback_dot': float(measured[1, k]),
                'error': float(np.nan_to_num(self._error[k])),
                'error_dot': float(self._rate[k]),
                'time_step': self._context.step,
                'output': float(self._output[k]),
            }
            for k, joint in enumerate(self.settings.joints)
        ]

    def end(self) -> None:
        """Release the joints."""
        self.targets.end()

    # --- graph and snapshots ---------------------------------------------------------------------

    def serve(self, node: GuardedMixin, full: Callable[[str], str]) -> list[Any]:
        """Create the service set_feedforward_control."""

        def answer(request: Any, response: Any) -> Any:
            self.set_feedforward(request.data)
            response.success = True
            return response

        node.create_service(SetBool, full(self.declared.topic('set_feedforward_control')), answer)
        return []

    def save(self, time_ns: int) -> SavedPid:
        """Return the state for `restore`."""
        return SavedPid(tuple(each.copy() for each in self._arrays()), self._uses_feedforward)

    def restore(self, saved: SavedPid, time_ns: int) -> None:
        """Return to a saved state."""
        for array, values in zip(self._arrays(), saved.values, strict=True):
            array[:] = values
        self._uses_feedforward = saved.uses_feedforward

    def restart(self, time_ns: int, reason: str) -> None:
        """Keep only the feedforward mode; the reference follows from the next activation."""
        self._measured[:] = np.nan

    def _arrays(self) -> Sequence[FloatArray]:
        return (
            self._reference,
            self._measured,
            self._error,
            self._rate,
            self._integral,
            self._output,
        )


class PidState:
    """Message about all degrees of freedom of a controller."""

    def __init__(self, controller: PidController, message_type: Any, part_type: Any) -> None:
        """Prepare. message_type, part_type: MultiDOFStateStamped and SingleDOFState."""
        self._controller, self._type, self._part = controller, message_type, part_type

    def stamped(self, stamp: bytes) -> Any:
        """Return the message with a stamp."""
        message = self._type()
        message.header.stamp = unpack_stamp(stamp)
        message.dof_states = [self._part(**each) for each in self._controller.states()]
        return message
