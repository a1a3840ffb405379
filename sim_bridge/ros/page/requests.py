"""User requests from the page, carried out like service calls and topic messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TYPE_CHECKING

from builtin_interfaces.msg import Duration
from rclpy.parameter import Parameter
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError, UnknownNameError
from sim_bridge.foundation.names import ByName
from sim_bridge.foundation.validation import number_from
from sim_bridge.page.records import Notice, Request
from sim_bridge.ros.command.joint_controls import control_parameter
from sim_bridge.ros.process.faults import described
from sim_bridge.ros.services.simulation_control import Phase, Scope
from sim_bridge.ros.wire.cdr import serialize_cleanly

if TYPE_CHECKING:
    from rclpy.node import Node

    from sim_bridge.ros.page.hand import Hand
    from sim_bridge.ros.process.deferred import DeferredServices
    from sim_bridge.ros.services.simulation_control import SimulationControl
    from sim_bridge.ros.session.robot_interface import RobotInterface
    from sim_bridge.ros.session.simulator import Simulator

_LONGEST_S = 1e6


class Requests:
    """
    Carries out requests on the executor's thread; most are passed on to the physics thread.

    abilities: supported request names.
    """

    def __init__(
        self,
        node: Node,
        services: DeferredServices,
        control: SimulationControl,
        simulator: Simulator,
        hand: Hand,
        tell: Callable[[Notice], None],
    ) -> None:
        """Take requests for this node. tell: function that shows a notice on the page."""
        self._node, self._services, self._control = node, services, control
        self._simulator, self._hand, self._tell = simulator, hand, tell
        self._calls: dict[str, Callable[..., None]] = {
            'pause': self._pause,
            'play': self._play,
            'step': self._step,
            'speed': self._set_speed,
            'reset': self._reset,
            'save': self._save,
            'restore': self._restore,
            'forget': self._forget,
            'command': self._command,
            'release': self._release,
            'trajectory': self._follow,
            'drag': self._drag,
            'drop': self._drop,
            'push': self._push,
        }
        self.abilities = frozenset(self._calls)

    def obey(self, request: Request) -> None:
        """Carry out a request; show an error on the page if it fails."""
        call = self._calls.get(request.name)
        try:
            if call is None:
                raise UnknownNameError('request', request.name, self._calls)
            call(**request.values)
        except SimBridgeError as err:
            self._complain(err)

    def tell_snapshots(self) -> None:
        """Show the snapshot names."""
        self._tell(Notice('snapshots', '', tuple(self._control.snapshots)))

    # --- on the executor's thread ----------------------------------------------------------------

    def _on_physics(self, function: Callable[[], None]) -> None:
        """Call a function between two control steps; show its errors on the page."""

        def attempt() -> None:
            try:
                function()
            except SimBridgeError as err:
                self._complain(err)

        self._services.submit(attempt)

    def _complain(self, error: SimBridgeError) -> None:
        self._tell(Notice('error', str(error)))

    def _pause(self) -> None:
        self._on_physics(self._control.pause)

    def _play(self) -> None:
        self._on_physics(self._control.play)

    def _step(self, steps: int) -> None:
        """Take steps; a running simulation is paused first."""
        self._on_physics(partial(self._pause_and_step, steps))

    def _set_speed(self, factor: float) -> None:
        self._set('real_time_factor', factor)

    def _reset(self) -> None:
        self._on_physics(lambda: self._control.reset(Scope.TIME | Scope.STATE))

    def _save(self, name: str) -> None:
        self._on_physics(lambda: self._control.save(name))
        self._on_physics(self.tell_snapshots)

    def _restore(self, name: str) -> None:
        self._on_physics(lambda: self._control.restore(name))

    def _forget(self, name: str) -> None:
        self._on_physics(lambda: self._control.forget(name))
        self._on_physics(self.tell_snapshots)

    def _command(self, robot: str, joint: str, control: str, value: float) -> None:
        """Command a joint; first set the parameter for its control mode, if the mode differs."""
        interface = self._interface(robot)
        axes = interface.commands.axes
        if joint not in axes:
            raise UnknownNameError('joint', joint, axes, f'robot {robot!r}')
        name = control_parameter(interface.prefix, joint)
        # mimic joints have no control parameter
        if self._node.has_parameter(name) and self._node.get_parameter(name).value != control:
            self._set(name, control)
        self._on_physics(lambda: self._hand.command(interface, joint, control, value))

    def _release(self, robot: str) -> None:
        self._on_physics(partial(self._hand.release, robot))

    def _follow(
        self,
        robot: str,
        joints: Sequence[str],
        times: Sequence[float],
        positions: Sequence[Sequence[float]],
    ) -> None:
        """Follow a trajectory as if received on a topic. times: from now [s]."""
        interface = self._interface(robot)
        topics = {topic.name: topic for topic in interface.command_topics}
        controllers = interface.trajectories.controllers
        active = [each for each in controllers if interface.states.is_active(each.name)]
        found = next((each for each in active if set(joints) <= set(each.joints)), None)
        if found is None:
            raise InvalidValueError(
                'joints of the trajectory',
                list(joints),
                'those of one controller: '
                + '; '.join(f'{each.name}: {", ".join(each.joints)}' for each in controllers),
                f'robot {robot!r}',
            )
        points = [
            JointTrajectoryPoint(positions=list(row), time_from_start=_duration(time_s))
            for time_s, row in zip(times, positions, strict=True)
        ]
        message = JointTrajectory(joint_names=list(joints), points=points)
        # repeated commands would interrupt the trajectory
        self._release(robot)
        name = found.topic('joint_trajectory')
        full_name = name if name.startswith('/') else interface.prefix + name
        topics[full_name].take(serialize_cleanly(message))

    def _drag(
        self, robot: str, link: str, point: Sequence[float] | None, target: Sequence[float]
    ) -> None:
        self._on_physics(partial(self._pull, robot, link, point, target))

    def _drop(self) -> None:
        self._on_physics(self._simulator.drop)

    def _push(self, robot: str, link: str, force: Sequence[float], seconds: float) -> None:
        self._on_physics(lambda: self._simulator.push(robot, link, force, seconds))

    def _set(self, name: str, value: Any) -> None:
        """Set a node parameter. Raises SimBridgeError with the refusal's reason."""
        (result,) = self._node.set_parameters([Parameter(name, value=value)])
        if not result.successful:
            raise SimBridgeError(result.reason)

    def _interface(self, robot: str) -> RobotInterface:
        return ByName(
            'robot',
            'the simulation',
            {each.robot.name: each for each in self._simulator.interfaces},
        )[robot]

    # --- on the physics thread -------------------------------------------------------------------

    def _pull(
        self, robot: str, link: str, point: Sequence[float] | None, target: Sequence[float]
    ) -> None:
        self._simulator.pull(robot, link, point, target)
        if point is not None and self._simulator.world.robots[robot].hold:
            self._tell(
                Notice(
                    'warning',
                    f'the joints of {robot} are locked until the first '
                    'command; move a slider to send one',
                )
            )

    def _pause_and_step(self, steps: int) -> None:
        if self._control.phase is Phase.PLAYING:
            self._control.pause()
        self._control.step(steps, self._after_steps)

    def _after_steps(self, error: Exception | None) -> None:
        if error is not None:
            self._tell(Notice('error', described(error)))


def _duration(time_s: float) -> Duration:
    """Return a time [s] as a Duration message."""
    nanoseconds = round(
        1e9
        * number_from(
            'time of a point', time_s, 0.0, _LONGEST_S, '', f'a number from 0 to {_LONGEST_S:g} s'
        )
    )
    sec, nanosec = divmod(nanoseconds, 1_000_000_000)
    return Duration(sec=sec, nanosec=nanosec)
