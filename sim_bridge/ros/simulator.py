"""A world and its robots' interfaces: what one control step is, threads and real time apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_bridge.ros.lockstep import Lockstep
from sim_bridge.ros.messages import pack_stamp
from sim_bridge.ros.publishers import clock_stream, Rate
from sim_bridge.ros.robot_interface import check_distinct, RobotInterface, STAMPED_TOPIC
from sim_bridge.ros.solver_statistics import SolverStatistics
from sim_bridge.ros.world_interface import WorldInterface

if TYPE_CHECKING:
    from rclpy.node import Node

    from sim_bridge.ros.bag.recording import Recording
    from sim_bridge.ros.loading import LoadedWorld
    from sim_bridge.ros.parameters import SimulatorParameters
    from sim_bridge.ros.sinks import Sink

# /clock must never say 0, which ROS reads as "no time yet"
_EARLIEST_NS = 1


class Simulator:
    """Takes control steps: commands in, physics, messages out, /clock last."""

    def __init__(self, sink: Sink, loaded: LoadedWorld, parameters: SimulatorParameters) -> None:
        """Open the topics of every robot and of the world they are in, and /clock."""
        self.world = loaded.world
        self._sink = sink
        joints = [name for each in loaded.robots for name in each.robot.joint_names]
        self.interfaces = [
            RobotInterface(sink, each, parameters, joints) for each in loaded.robots]
        check_distinct(topic.name for each in self.interfaces for topic in each.command_topics)
        prefixes = {
            each.robot.name: parameters.frame_prefix + each.prefix for each in loaded.robots}
        self.world_interface = WorldInterface(sink, loaded.world, parameters, prefixes)
        self.solver_statistics = SolverStatistics()
        self.recording: Recording | None = None
        self.lockstep = self._make_lockstep(parameters) if parameters.lockstep else None
        self._substeps = parameters.substeps
        self._clock = clock_stream(sink, parameters.clock_rate or parameters.rate)
        self._clock_rate = Rate(parameters.clock_rate)

    @property
    def time_ns(self) -> int:
        """Simulated time as it is published [ns]."""
        return max(self.world.step_count * self.world.time_step_ns, _EARLIEST_NS)

    def is_ready(self) -> bool:
        """Tell whether a control step can be taken: in lockstep when all have answered."""
        lockstep = self.lockstep
        if lockstep is None:
            return True
        if lockstep.should_ask:
            time_ns = self.time_ns
            self._sink.pause()
            for interface in self.interfaces:
                interface.ask_again(time_ns, pack_stamp(time_ns))
        return lockstep.is_open()

    def tick(self) -> None:
        """Take one control step and publish what it brought. Raises SimulationError."""
        now = self.time_ns
        if self.lockstep is not None:
            self.lockstep.release()
        for interface in self.interfaces:
            interface.commands.apply(now)
        self._advance()
        self.solver_statistics.record(self.world.report)
        time_ns = self.time_ns
        self._sink.begin(time_ns)
        stamp = pack_stamp(time_ns)
        for interface in self.interfaces:
            interface.publish(time_ns, stamp)
        self.world_interface.publish(time_ns, stamp)
        if self._clock_rate.is_due(time_ns):
            self._clock.publish(stamp)
        if self.recording is not None:
            self.recording.end_tick()

    def _advance(self) -> None:
        """Take the physics steps, before each of which trajectories are sampled."""
        world, following = self.world, [
            each.trajectories for each in self.interfaces if each.trajectories.is_active]
        if not following:
            world.step(self._substeps)
            return
        for _ in range(self._substeps):
            time_ns = world.step_count * world.time_step_ns
            for each in following:
                each.drive(time_ns, world.time_step_ns)
            world.step()

    def listen(self, node: Node) -> None:
        """Take commands of all robots from the graph from now on."""
        for interface in self.interfaces:
            interface.listen(node)

    def publish_clock(self) -> None:
        """Publish /clock as it stands, for those who come while the simulation is paused."""
        self._sink.pause()
        self._clock.publish(pack_stamp(self.time_ns))
        if self.recording is not None:
            self.recording.hand_over()

    def reset(self, clock: bool) -> None:
        """
        Put all robots back to where they started.

        clock: set the simulated time back to 0, too.
        """
        if self.recording is not None:
            self.recording.hand_over()
            self.recording.note('reset', clock=clock)
        self.world.reset(time=clock)
        self._clock_rate.restart(self.time_ns)
        self._sink.begin(self.time_ns)
        for interface in self.interfaces:
            interface.restart()
        self.world_interface.restart()
        if self.lockstep is not None:
            self.lockstep.restart()

    def refresh(self) -> None:
        """Look which topics somebody subscribes to."""
        self._clock.refresh()
        for interface in self.interfaces:
            interface.refresh()
        self.world_interface.refresh()

    def _make_lockstep(self, parameters: SimulatorParameters) -> Lockstep:
        topics = [f'{interface.prefix}{STAMPED_TOPIC}' for interface in self.interfaces]
        lockstep = Lockstep(parameters.lockstep, topics, timeout_s=parameters.lockstep_timeout)
        for interface in self.interfaces:
            interface.lockstep = lockstep
        return lockstep
