"""Recording a run without a ROS graph, at computing speed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import time

from sim_bridge.foundation.errors import RecordingError, SimBridgeError
from sim_bridge.ros.bag.bag_sink import absolute
from sim_bridge.ros.bag.command_files import check_commands, Command, read_commands
from sim_bridge.ros.bag.recording import recorder_of, Recording, sink_of
from sim_bridge.ros.command.command_inbox import STAMPED_TOPIC
from sim_bridge.ros.command.joint_controls import JointControls, NoNode
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.session.loading import load_world
from sim_bridge.ros.session.simulator import Simulator

# control steps between two calls of `progress`
_STRETCH = 500


class OfflineRun:
    """
    A simulator and the bag it records to.

    commands: count of applied commands. left_over: count of commands after the end. warnings:
    texts about irregularities in the arguments.
    """

    def __init__(
        self, parameters: SimulatorParameters, namespace: str = '', commands: Path | None = None
    ) -> None:
        """
        Load the world and create the bag.

        parameters: `record` names the bag. commands: a table or a bag. Raises a SimBridgeError,
        also for a damaged bag.
        """
        parameters = parameters.in_namespace(namespace)
        loaded = load_world(parameters)
        note = '' if commands is None else check_commands(commands)
        self.warnings = [note] if note else []
        self.recorder = recorder_of(parameters, Path(parameters.record).expanduser(), waits=True)
        self.commands = self.left_over = 0
        self._ticks, self._tick_ns = 0, parameters.tick_ns
        try:
            # wall times as in a run in real time
            begun_ns = time.time_ns()
            bag = sink_of(
                parameters,
                self.recorder,
                lambda topic: absolute(topic, namespace),
                lambda bag_ns: begun_ns + bag_ns,
            )
            self.simulator = Simulator(bag, loaded, parameters)
            JointControls(NoNode(), self.simulator.interfaces, parameters)
            self._takers = {
                topic.name: topic.take
                for interface in self.simulator.interfaces
                for topic in interface.command_topics
            }
            names = {absolute(name, namespace): name for name in self._takers}
            joints = {
                f'{interface.prefix}{STAMPED_TOPIC}': interface.commands.names
                for interface in self.simulator.interfaces
            }
            self._source = iter(()) if commands is None else read_commands(commands, names, joints)
            self._next: Command | None = next(self._source, None)
            self.recording = Recording(bag, self.simulator, loaded, parameters, namespace)
            self.warnings += [f'{each} matches no topic' for each in bag.selection.idle]
        except SimBridgeError:
            self.recorder.discard()
            raise

    def run(self, seconds: float, progress: Callable[[float], None]) -> str:
        """
        Simulate for this many seconds; return the state hash at the end.

        progress: called at intervals with the simulated time [s]. Raises SimulationError, or
        RecordingError if the bag could not be written; the bag is readable in either case.
        """
        try:
            end = self._ticks + round(seconds * 1e9 / self._tick_ns)
            while self._ticks < end and self.recorder.is_open:
                for _ in range(min(_STRETCH, end - self._ticks)):
                    self._feed()
                    self.simulator.tick()
                    self._ticks += 1
                progress(self._ticks * self._tick_ns * 1e-9)
            self.left_over = (self._next is not None) + sum(1 for _ in self._source)
        finally:
            self.recording.close()
        error = self.recorder.error
        if error is not None and error.messages is not None:
            # more messages may have been written since
            error = RecordingError(error.bag, error.reason, self.recorder.message_count)
        if error is not None:
            raise error
        return str(self.simulator.world.state_hash())

    def _feed(self) -> None:
        """Submit the commands due now."""
        # the first step begins at 1 ns, since ROS reads 0 as "no time"
        now = max(1, self._ticks * self._tick_ns)
        while self._next is not None and self._next[0] <= now:
            _, topic, data = self._next
            self._takers[topic](data)
            self.commands += 1
            self._next = next(self._source, None)
