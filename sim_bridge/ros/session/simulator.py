"""A world and its robots' interfaces: what one control step is, threads and real time apart."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any, NamedTuple, TYPE_CHECKING

from sim_bridge.ros.command.command_inbox import check_distinct, STAMPED_TOPIC
from sim_bridge.ros.command.lockstep import FreeRunning, Lockstep, LockstepPolicy
from sim_bridge.ros.process.deferred import await_delivery
from sim_bridge.ros.process.entity_scope import EntityScope
from sim_bridge.ros.publish.sinks import ClosingSink
from sim_bridge.ros.publish.solver_statistics import SolverStatistics
from sim_bridge.ros.publish.streams import clock_stream, Rate
from sim_bridge.ros.publish.world_interface import WorldInterface
from sim_bridge.ros.session.journal import Journal, NO_JOURNAL
from sim_bridge.ros.session.robot_interface import RobotInterface
from sim_bridge.ros.wire.messages import pack_stamp

if TYPE_CHECKING:
    import sim_bridge as sb
    from sim_bridge.ros.params.parameters import SimulatorParameters
    from sim_bridge.ros.process.polling import PollingMixin
    from sim_bridge.ros.publish.sinks import Sink
    from sim_bridge.ros.session.loading import LoadedRobot, LoadedWorld
    from sim_bridge.ros.session.robot_interface import SavedInterface

# The part of a control step for which commands are taken in, and how long that may last while no
# step is taken: a flood of commands must not delay steps or requests.
_TAKING_SHARE = 0.25
_TAKING_NS = 5_000_000

# /clock must never say 0, which ROS reads as "no time yet"
_EARLIEST_NS = 1


class SimulatorSnapshot(NamedTuple):
    """
    Everything that decides what a simulator does next, until commands come.

    number: tells recordings which of those taken it is.
    """

    number: int
    world: sb.Snapshot
    interfaces: dict[str, SavedInterface]


class Simulator:
    """
    Takes control steps: commands in, physics, messages out, /clock last.

    /clock is independent of the world's time: when the world goes back in time, /clock may go on,
    so that subscribers see time pass while the world does exactly what it did before.
    """

    def __init__(self, sink: Sink, loaded: LoadedWorld, parameters: SimulatorParameters) -> None:
        """Open the topics of every robot and of the world they are in, and /clock."""
        self.world = loaded.world
        # attributes, not properties of the world: these are read in each tick
        self._simulation = loaded.world.simulation
        self._step_ns: int = loaded.world.time_step_ns
        self._sink, self._parameters = sink, parameters
        self._node: PollingMixin | None = None
        # what is opened on the sink, and on the node, for each robot
        self._outlets: dict[str, ClosingSink] = {}
        self._scopes: dict[str, EntityScope] = {}
        # /clock when the world's step count is 0
        self._epoch_ns = 0
        self._saved = 0
        self.journal: Journal = NO_JOURNAL
        """Records what this simulator takes in."""
        self.lockstep = _lockstep_of(loaded, parameters)
        # of all robots there ever were, since parameters go on naming them; a set in their order
        self._joints = dict.fromkeys(
            name for each in loaded.robots for name in each.robot.joint_names)
        self.interfaces: list[RobotInterface] = []
        for each in loaded.robots:
            self._add_interface(each)
        self.world_interface = WorldInterface(sink, loaded.world, parameters, self._prefixes())
        self.solver_statistics = SolverStatistics(loaded.world)
        self._substeps, self._tick_ns = parameters.substeps, parameters.tick_ns
        self._taking_ns = round(_TAKING_SHARE * parameters.tick_ns)
        self._clock = clock_stream(sink, parameters.clock_rate or parameters.rate)
        self._clock_rate = Rate(parameters.clock_rate)

    @property
    def time_ns(self) -> int:
        """Simulated time as it is published [ns]."""
        time_ns: int = self._epoch_ns + self._simulation.step_count * self._step_ns
        return max(time_ns, _EARLIEST_NS)

    def is_ready(self) -> bool:
        """Return whether a control step can be taken: in lockstep when all have answered."""
        if self.lockstep.should_ask:
            time_ns = self.time_ns
            self._sink.pause()
            for interface in self.interfaces:
                interface.publish_state(time_ns, pack_stamp(time_ns))
        return self.lockstep.is_open()

    def tick(self) -> None:
        """Take one control step and publish what it brought. Raises SimulationError."""
        now = self.time_ns
        self.lockstep.release()
        until_ns = time.monotonic_ns() + self._taking_ns
        for interface in self.interfaces:
            interface.inbox.poll_likely(until_ns)
            interface.commands.apply(now)
        self._advance()
        time_ns = self.time_ns
        self._sink.begin(time_ns)
        stamp = pack_stamp(time_ns)
        for interface in self.interfaces:
            interface.publish(time_ns)
        self.world_interface.publish(time_ns, stamp)
        if self._clock_rate.is_due(time_ns):
            self._clock.publish(stamp)
        self.journal.end_tick()

    def _advance(self) -> None:
        """Take the physics steps, before each of which trajectories are sampled."""
        world, following = self.world, [
            each.trajectories for each in self.interfaces if each.trajectories.is_active]
        if not following:
            world.step(self._substeps)
            return
        for _ in range(self._substeps):
            time_ns = self._step_time_ns
            for each in following:
                each.drive(time_ns, world.time_step_ns)
            world.step()

    def listen(self, node: PollingMixin) -> None:
        """Take commands of all robots from the graph from now on."""
        self._node = node
        for interface in self.interfaces:
            self._listen(interface)

    def poll(self) -> None:
        """Take in the commands that have come, while no step is taken."""
        until_ns = time.monotonic_ns() + _TAKING_NS
        for interface in self.interfaces:
            interface.inbox.poll(until_ns)

    def publish_clock(self) -> None:
        """Publish /clock as it stands, for those who come while the simulation is paused."""
        self._sink.pause()
        self._clock.publish(pack_stamp(self.time_ns))
        self.journal.flush()

    def publish_state(self) -> None:
        """
        Publish the state that a reset, or whatever else was no step, has led to; /clock last.

        That takes one control step of /clock, so that no two states have one stamp.
        """
        self.journal.note('publish_state')
        now = self._step_time_ns
        self._set_clock(now + self._tick_ns, before_ns=now)
        self._publish_all()

    # --- jumps -----------------------------------------------------------------------------------

    def reset(
        self,
        clock: bool,
        *,
        time: bool = True,
        state: bool = True,
        announce: Callable[[], None] = lambda: None,
    ) -> None:
        """
        Begin again, and publish where that is.

        state: put all robots back to where they started, and wait for commands. time: let the
        world's time begin at 0, so that sensors and their noise do what they did. clock: set
        /clock back to 0 with it; else it goes on by one control step. announce: called before
        anything is published.
        """
        self.journal.note('reset', clock=clock, time=time, state=state)
        now = self._step_time_ns
        if state:
            self.world.reset(time=time)
        elif time:
            self.world.step_count = 0
        self._set_clock(0 if clock and time else now + self._tick_ns, before_ns=now)
        for interface in self.interfaces if state else ():
            interface.restart()
        announce()
        self._publish_all()

    def save(self) -> SimulatorSnapshot:
        """Return a snapshot that `restore` goes back to, bit for bit."""
        self.journal.note('save')
        self._saved += 1
        return SimulatorSnapshot(self._saved, self.world.save(), {
            interface.robot.name: interface.save() for interface in self.interfaces})

    def restore(
        self,
        snapshot: SimulatorSnapshot,
        clock: bool,
        announce: Callable[[], None] = lambda: None,
    ) -> None:
        """
        Go back to a snapshot, and publish where that is. Commands under way are forgotten.

        clock: set /clock to what the world's time was; else it goes on by one control step.
        announce: called before anything is published. Raises InvalidValueError where robots were
        added or removed since.
        """
        now = self._step_time_ns
        self.journal.flush()
        self.world.restore(snapshot.world)
        self.journal.note('restore', number=snapshot.number, clock=clock)
        self._set_clock(
            self.world.step_count * self.world.time_step_ns if clock else now + self._tick_ns,
            before_ns=now)
        for interface in self.interfaces:
            interface.restore(snapshot.interfaces[interface.robot.name])
        announce()
        self._publish_all()

    def move(self, name: str, pose: Any = None, twist: Any = None) -> None:
        """
        Put a robot or an object somewhere, which `publish_state` tells of.

        name: of it. pose: position [m] and quaternion x y z w of its root link in the world.
        twist: its linear [m/s] and angular [rad/s] velocity. None to leave either.
        """
        robot = self.world.robots[name]
        if pose is not None:
            robot.set_base_pose(*pose)
        if twist is not None:
            robot.set_base_velocity(*twist)
        self.journal.note('move', name=name, pose=_listed(pose), twist=_listed(twist))

    # --- adding and removing ---------------------------------------------------------------------

    def add(
        self, robot: sb.Robot, loaded: LoadedRobot | None, position: Any = None,
        orientation: Any = None,
    ) -> RobotInterface | None:
        """
        Take account of what was added to the world; loaded: None for an object.

        position, orientation: what `World.add_copy` put it at, so that replays can; None where it
        came otherwise. On the executor's thread, while the physics thread waits. Raises
        InvalidValueError or UnknownNameError where it cannot have the topics it wants; it is in
        the world all the same.
        """
        self.journal.note_spawn(robot, loaded, position, orientation)
        # what is opened and sent belongs into a bag, also while no step is taken
        self._sink.begin(self.time_ns)
        interface = None
        if loaded is not None:
            self._joints |= dict.fromkeys(loaded.robot.joint_names)
            interface = self._add_interface(loaded)
            self.journal.add_interface(interface)
            self._listen(interface)
        self._populate()
        return interface

    def remove(self, name: str) -> RobotInterface | None:
        """
        Take a robot or an object out of the world, and close its topics; threads as in `add`.

        Returns the interface it had. Raises UnknownNameError.
        """
        self.journal.note('delete', name=name)
        self._sink.begin(self.time_ns)
        gone = next((one for one in self.interfaces if one.robot.name == name), None)
        if gone is not None and gone.retire(f'robot {name!r} was removed'):
            await_delivery()
        self.world.remove(name)
        if gone is not None:
            self.interfaces = [one for one in self.interfaces if one is not gone]
            self._close(name)
        self._populate()
        # no step is to wait for a source that is gone
        self.lockstep.restart()
        return gone

    def retire(self, reason: str) -> None:
        """End all commands and goals; on the executor's thread, after the last step."""
        for interface in self.interfaces:
            interface.retire(reason)

    def close(self) -> None:
        """Close the topics of the robots; what belongs to the world goes with the node."""
        for name in list(self._outlets):
            self._close(name)

    def refresh(self) -> None:
        """Look which topics somebody subscribes to."""
        self._clock.refresh()
        for interface in self.interfaces:
            interface.refresh()
        self.world_interface.refresh()

    # --- inside ----------------------------------------------------------------------------------

    @property
    def _step_time_ns(self) -> int:
        """The time of the present step [ns]."""
        time_ns: int = self._epoch_ns + self._simulation.step_count * self._step_ns
        return time_ns

    def _add_interface(self, loaded: LoadedRobot) -> RobotInterface:
        outlets = ClosingSink(self._sink)
        try:
            interface = RobotInterface(
                outlets, loaded, self._parameters, list(self._joints), self.lockstep,
                lambda: self._step_time_ns)
            check_distinct(
                topic.name for each in [*self.interfaces, interface]
                for topic in each.command_topics)
        except Exception:
            outlets.close()
            raise
        self.interfaces = [*self.interfaces, interface]
        self._outlets[loaded.robot.name] = outlets
        return interface

    def _listen(self, interface: RobotInterface) -> None:
        if self._node is not None:
            scope = self._scopes[interface.robot.name] = EntityScope(self._node)
            with scope.collecting():
                interface.inbox.listen(self._node)

    def _close(self, name: str) -> None:
        self._outlets.pop(name).close()
        if name in self._scopes:
            self._scopes.pop(name).destroy()

    def _populate(self) -> None:
        """Publish the robots and objects that are in the world now."""
        for interface in self.interfaces:
            interface.locate()
        self.world_interface.populate(self._prefixes())
        self.world_interface.resume(self.time_ns)

    def _prefixes(self) -> dict[str, str]:
        ours = self._parameters.frame_prefix
        return {one.robot.name: ours + one.prefix for one in self.interfaces}

    def _set_clock(self, time_ns: int, before_ns: int) -> None:
        """Make /clock jump from one time to another [ns]; the world may have jumped before."""
        self._epoch_ns = time_ns - self.world.step_count * self.world.time_step_ns
        for interface in self.interfaces:
            interface.commands.shift(time_ns - before_ns)

    def _publish_all(self) -> None:
        time_ns = self.time_ns
        self._sink.begin(time_ns)
        stamp = pack_stamp(time_ns)
        self.lockstep.restart()
        for interface in self.interfaces:
            interface.resume()
            interface.publish_state(time_ns, stamp)
        self.world_interface.resume(time_ns)
        self.world_interface.publish_state(stamp)
        self._clock_rate.restart(time_ns)
        self._clock.publish(stamp)


def _lockstep_of(loaded: LoadedWorld, parameters: SimulatorParameters) -> LockstepPolicy:
    """Return the lockstep of the parameters. Raises UnknownNameError or InvalidValueError."""
    if not parameters.lockstep:
        return FreeRunning()
    return Lockstep(
        parameters.lockstep, [f'{each.prefix}{STAMPED_TOPIC}' for each in loaded.robots],
        timeout_s=parameters.lockstep_timeout)


def _listed(parts: Any) -> list[list[float]] | None:
    """Return arrays as JSON has them."""
    return None if parts is None else [list(map(float, part)) for part in parts]
