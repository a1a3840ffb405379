"""A world and its robot interfaces: the control step, independent of threads and real time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import time
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from sim_bridge.foundation.errors import ErrorCode, InvalidValueError
from sim_bridge.ros.camera.feed import Carrier
from sim_bridge.ros.command.command_inbox import check_distinct, STAMPED_TOPIC
from sim_bridge.ros.command.lockstep import FreeRunning, Lockstep, LockstepPolicy
from sim_bridge.ros.process.deferred import DELIVERY
from sim_bridge.ros.process.entity_scope import EntityScope
from sim_bridge.ros.publish.sinks import ClosingSink
from sim_bridge.ros.publish.solver_statistics import SolverStatistics
from sim_bridge.ros.publish.streams import clock_stream, Rate
from sim_bridge.ros.publish.world_interface import WorldInterface
from sim_bridge.ros.session.journal import Journal
from sim_bridge.ros.session.loading import check_namespace, replace_fields
from sim_bridge.ros.session.mouse_drag import MouseDrag
from sim_bridge.ros.session.robot_interface import RobotInterface
from sim_bridge.ros.wire.messages import pack_stamp
from sim_bridge.simulation.rollback import all_or_nothing
from sim_bridge.world.changes import apply_changes
from sim_bridge.world.waypoints import functions_beside_files

if TYPE_CHECKING:
    import sim_bridge as sb
    from sim_bridge.drives.drive import Drive
    from sim_bridge.foundation.validation import GivenPose
    from sim_bridge.ros.camera.feed import CameraFeed
    from sim_bridge.ros.params.parameters import SimulatorParameters
    from sim_bridge.ros.process.polling import PollingMixin
    from sim_bridge.ros.publish.sinks import Sink
    from sim_bridge.ros.session.loading import LoadedRobot, LoadedWorld
    from sim_bridge.ros.session.robot_interface import SavedInterface
    from sim_bridge.ros.session.spawn_request import SceneSource
    from sim_bridge.simulation.snapshots import Snapshot
    from sim_bridge.world.openplx import OpenPlxScene

SETTINGS = ('solver', 'sleep', 'gravity', 'integrator')
"""Node parameters with the name of the `World` attribute that they set."""

# Time limits for taking commands: as a share of a control step, and while no step is taken. They
# keep a flood of commands from delaying steps or requests.
_TAKING_SHARE = 0.25
_TAKING_NS = 5_000_000

# /clock must never be 0, which ROS reads as "no time yet"
_EARLIEST_NS = 1


class SimulatorSnapshot(NamedTuple):
    """
    Complete state that determines a simulator's next steps, until new commands arrive.

    number: identifies the snapshot in recordings. force_fields: parameter text.
    """

    number: int
    world: Snapshot
    interfaces: dict[str, SavedInterface]
    force_fields: str


class Simulator:
    """
    Takes control steps: commands in, physics, messages out, /clock last.

    /clock is independent of the world's time. When the world goes back in time, /clock may
    continue. Subscribers then see increasing time while the world repeats its previous behaviour
    exactly.
    """

    def __init__(self, sink: Sink, loaded: LoadedWorld, parameters: SimulatorParameters) -> None:
        """Open /clock and all topics for the robots and the world."""
        # callers that know the node's namespace have applied it already
        parameters = parameters.in_namespace('')
        self.world, self.scene = loaded.world, loaded.scene
        # attributes instead of the world's properties: these are read in each tick
        self._simulation = loaded.world.simulation
        self._step_ns: int = loaded.world.time_step_ns
        self._sink, self._parameters = sink, parameters
        self._node: PollingMixin | None = None
        # per robot: outlets on the sink, entities on the node
        self._outlets: dict[str, ClosingSink] = {}
        self._scopes: dict[str, EntityScope] = {}
        # /clock when the world's step count is 0
        self._epoch_ns = 0
        self._saved = 0
        self._force_fields = parameters.force_fields
        self.cameras: CameraFeed | None = None
        """Pictures, in a node with a graph."""
        self.journal = Journal()
        """Record for this simulator's inputs."""
        self.mouse_drag = MouseDrag(loaded.world)
        """Pulls and pushes from the page."""
        self.lockstep = _lockstep_of(loaded, parameters)
        # joints for all robots so far, since parameters still name them; an ordered set
        self._joints = dict.fromkeys(
            name for each in loaded.robots for name in each.robot.joint_names
        )
        self.interfaces: list[RobotInterface] = []
        for each in loaded.robots:
            self._add_interface(each)
        self.world_interface = WorldInterface(
            sink, loaded.world, parameters, self._prefixes(), self._reckoned()
        )
        self.solver_statistics = SolverStatistics(loaded.world)
        self._substeps, self._tick_ns = parameters.substeps, parameters.tick_ns
        self._taking_ns = round(_TAKING_SHARE * parameters.tick_ns)
        self._clock = clock_stream(sink, parameters.clock_rate or parameters.rate)
        self._clock_rate = Rate(parameters.clock_rate)

    @property
    def time_ns(self) -> int:
        """Published simulated time [ns]."""
        time_ns: int = self._epoch_ns + self._simulation.run.step_count * self._step_ns
        return max(time_ns, _EARLIEST_NS)

    def is_ready(self) -> bool:
        """Return whether a control step can be taken; in lockstep, whether all have answered."""
        if self.lockstep.should_ask:
            self.show_state()
        return self.lockstep.is_open()

    def show_state(self) -> None:
        """Publish the current joint states again for controllers, without recording them."""
        time_ns = self.time_ns
        self._sink.pause()
        for interface in self.interfaces:
            interface.show_state(time_ns, pack_stamp(time_ns))

    def tick(self) -> None:
        """Take one control step and publish its results. Raises SimulationError."""
        now = self.time_ns
        self.lockstep.release()
        until_ns = time.monotonic_ns() + self._taking_ns
        for interface in self.interfaces:
            interface.inbox.poll_likely(until_ns)
            interface.command(now)
        self._advance()
        time_ns = self.time_ns
        self._sink.begin(time_ns)
        stamp = pack_stamp(time_ns)
        for interface in self.interfaces:
            interface.publish(time_ns)
        self.world_interface.publish(time_ns, stamp)
        if self.cameras is not None:
            self.cameras.publish(time_ns)
        if self._clock_rate.is_due(time_ns):
            self._clock.publish(stamp)
        self.journal.end_tick()

    def _advance(self) -> None:
        """Take the physics steps; trajectories and contact events need each single step."""
        world, following = (
            self.world,
            [each.trajectories for each in self.interfaces if each.trajectories.is_active],
        )
        if self._simulation.runner.calls_python:
            self.journal.note_functions(functions_beside_files(world.functions))
        events = self.world_interface.contact_events
        mouse_drag = self.mouse_drag
        if not following and not events.is_wanted and not mouse_drag.is_busy:
            world.step(self._substeps)
            return
        step = events.step if events.is_wanted else world.step
        for _ in range(self._substeps):
            time_ns = self._step_time_ns
            for each in following:
                each.drive(time_ns, world.time_step_ns)
            if mouse_drag.is_busy:
                mouse_drag.apply()
            step()

    def listen(self, node: PollingMixin) -> None:
        """Subscribe to the commands of all robots."""
        self._node = node
        for interface in self.interfaces:
            self._listen(interface)

    def poll(self) -> None:
        """Take received commands while no step is taken."""
        until_ns = time.monotonic_ns() + _TAKING_NS
        for interface in self.interfaces:
            interface.inbox.poll(until_ns)

    def publish_clock(self) -> None:
        """Publish the current /clock, for subscribers that join while the simulation is paused."""
        self._sink.pause()
        self._clock.publish(pack_stamp(self.time_ns))
        self.journal.flush()

    def publish_state(self) -> None:
        """
        Publish the state after a reset or another change without a step; /clock last.

        /clock advances by one control step, so each state has a different stamp.
        """
        self.journal.note('publish_state')
        now = self._step_time_ns
        self._set_clock(now + self._tick_ns, before_ns=now)
        self._publish_all()

    def complete_state(self) -> None:
        """
        Publish the state after the last of several steps on the topics where none was due.

        Sensors are left out. /clock comes last.
        """
        self.journal.note('complete_state')
        time_ns = self.time_ns
        self._sink.begin(time_ns)
        stamp = pack_stamp(time_ns)
        for interface in self.interfaces:
            interface.complete_state(stamp)
        self.world_interface.complete_state(stamp)
        self._clock.catch_up(stamp)

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
        Start again, and publish the resulting state.

        state: return all robots to their start, and wait for commands. time: set the world's time
        to 0, so sensors and their noise repeat. clock: also set /clock to 0; otherwise it
        advances by one control step. announce: called before anything is published.
        """
        self.journal.note('reset', clock=clock, time=time, state=state)
        now = self._step_time_ns
        if state:
            self.mouse_drag.end()
            self.world.reset(time=time)
        elif time:
            self.world.step_count = 0
        self._set_clock(0 if clock and time else now + self._tick_ns, before_ns=now)
        for interface in self.interfaces if state else ():
            interface.restart()
        announce()
        self._publish_all()

    def use_controllers(self, robot: str, stages: Mapping[str, str]) -> None:
        """
        Let the active controllers of a robot's files command their joints.

        stages: by controller, see `ControllerStates`. Raises UnknownNameError or
        InvalidValueError.
        """
        self.journal.note('controllers', robot=robot, stages=dict(stages))
        for interface in self.interfaces:
            if interface.robot.name == robot:
                interface.states.set_stages(stages)
                interface.use_controllers()

    def save(self) -> SimulatorSnapshot:
        """Return a snapshot for `restore`, exact to the bit."""
        self.journal.note('save')
        self._saved += 1
        return SimulatorSnapshot(
            self._saved,
            self.world.save(),
            {interface.robot.name: interface.save() for interface in self.interfaces},
            self._force_fields,
        )

    def restore(
        self, snapshot: SimulatorSnapshot, clock: bool, announce: Callable[[], None] = lambda: None
    ) -> None:
        """
        Return to a snapshot, and publish the resulting state; pending commands are dropped.

        clock: set /clock to the snapshot's world time; otherwise it advances by one control step.
        announce: called before anything is published. Raises InvalidValueError if robots were
        added or removed since.
        """
        now = self._step_time_ns
        self.journal.flush()
        with all_or_nothing(self._simulation):
            for interface in self.interfaces:
                if interface.robot.name in snapshot.interfaces:
                    interface.prepare(snapshot.interfaces[interface.robot.name])
            self.world.restore(snapshot.world)
        self.mouse_drag.end()
        self._force_fields = snapshot.force_fields
        self.journal.note('restore', number=snapshot.number, clock=clock)
        self._set_clock(
            self.world.step_count * self.world.time_step_ns if clock else now + self._tick_ns,
            before_ns=now,
        )
        for interface in self.interfaces:
            interface.restore(snapshot.interfaces[interface.robot.name])
        announce()
        self._publish_all()

    def move(self, name: str, pose: Any = None, twist: Any = None) -> None:
        """
        Set a robot's or object's pose or twist; `publish_state` publishes it.

        name: robot or object. pose: position [m] and quaternion x y z w for its root link in the
        world. twist: linear [m/s] and angular [rad/s] velocity. None leaves either unchanged.
        """
        robot = self.world.robots[name]
        if pose is not None:
            robot.set_base_pose(*pose)
        if twist is not None:
            robot.set_base_velocity(*twist)
        self.journal.note('move', name=name, pose=_listed(pose), twist=_listed(twist))

    def pull(
        self, robot: str, link: str, point: Sequence[float] | None, target: Sequence[float]
    ) -> None:
        """Pull a link from the next step on, until `drop`; see `MouseDrag.pull`."""
        self.mouse_drag.pull(robot, link, point, target)
        self.journal.note('pull', robot=robot, link=link, point=point, target=target)

    def push(self, robot: str, link: str, force: Sequence[float], seconds: float) -> None:
        """Push a link from the next step on; see `MouseDrag.push`."""
        self.mouse_drag.push(robot, link, force, seconds)
        self.journal.note('push', robot=robot, link=link, force=force, seconds=seconds)

    def drop(self) -> None:
        """Stop pulling."""
        self.mouse_drag.drop()
        self.journal.note('drop')

    def configure(self, changes: Mapping[str, Any], force_fields: str = '') -> None:
        """
        Change the world's settings, and replace all force fields, from the next step on.

        changes: by name in `SETTINGS`. force_fields: YAML text, as in the parameter
        `force_fields`; '' for no change. Raises InvalidValueError or UnknownNameError, and then
        changes nothing.
        """
        with all_or_nothing(self._simulation):
            for name, value in changes.items():
                setattr(self.world, name, value)
            if force_fields:
                replace_fields(self.world, force_fields)
        if changes:
            self.journal.note('configure', **changes)
        if force_fields:
            self._force_fields = force_fields
            self.journal.note('force_fields', text=force_fields)

    def set_force_fields(self, text: str) -> None:
        """Replace all force fields; see `configure`."""
        self.configure({}, text)

    @property
    def settings(self) -> dict[str, Any]:
        """The world's current settings as parameter values, where parameters can hold them."""
        world = self.world
        values = {
            'solver': world.solver,
            'integrator': world.integrator,
            'sleep': world.sleep is not None,
            'force_fields': self._force_fields,
        }
        gravity = world.gravity
        if isinstance(gravity, np.ndarray):
            values['gravity'] = tuple(gravity.tolist())
        return values

    def change(self, text: str) -> None:
        """
        Change entities according to a YAML text; on the executor's thread, while physics waits.

        Raises InvalidValueError, and then changes nothing.
        """
        changes = apply_changes(self.world.robots, self._simulation, text, "parameter 'changes'")
        self.journal.note('change', text=text)
        if any(link.shapes for change in changes for link in change.links):
            self._populate()

    # --- adding and removing ---------------------------------------------------------------------

    def add(
        self,
        robot: sb.Robot,
        loaded: LoadedRobot | None,
        position: Any = None,
        orientation: Any = None,
    ) -> RobotInterface | None:
        """
        Open the topics for a robot added to the world. loaded: None for an object.

        position, orientation: arguments of `World.add_copy`, for replays; None if it was added in
        another way. Call this on the executor's thread, while the physics thread waits. Raises
        InvalidValueError or UnknownNameError if its topics cannot be opened; the robot then stays
        in the world.
        """
        self.journal.note_spawn(robot, loaded, position, orientation)
        added = self._open([] if loaded is None else [loaded])
        return added[0] if added else None

    def add_scene(
        self,
        scene: OpenPlxScene,
        source: SceneSource,
        pose: GivenPose,
        loaded: Sequence[LoadedRobot],
    ) -> list[RobotInterface]:
        """
        Open the topics for an OpenPLX scene added to the world. Threads and errors: see `add`.

        source, pose: for replays. loaded: its robots, without objects.
        """
        self.journal.note_scene(scene, source, pose, loaded)
        for each in loaded:
            check_namespace(each.robot.name, each.namespace, self.interfaces, 'namespace')
            if each.scene and each.scene_namespace in [
                one.signals_namespace for one in self.interfaces
            ]:
                raise InvalidValueError(
                    'namespace',
                    each.scene_namespace,
                    'a namespace without signals of another scene',
                    code=ErrorCode.NAMESPACE_INVALID,
                )
        return self._open(loaded)

    def remove(self, name: str) -> RobotInterface | None:
        """
        Remove a robot or an object from the world, and close its topics. Threads: see `add`.

        Returns its interface. Raises UnknownNameError.
        """
        self.journal.note('delete', name=name)
        self._sink.begin(self.time_ns)
        gone = next((one for one in self.interfaces if one.robot.name == name), None)
        if gone is not None and gone.retire(f'robot {name!r} was removed'):
            DELIVERY.wait()
        self.world.remove(name)
        if gone is not None:
            self.interfaces = [one for one in self.interfaces if one is not gone]
            self._close(name)
        self._populate()
        # steps must not wait for a removed source
        self.lockstep.restart()
        return gone

    def retire(self, reason: str) -> None:
        """End all commands and goals; on the executor's thread, after the last step."""
        for interface in self.interfaces:
            interface.retire(reason)

    def close(self) -> None:
        """Close the robots' topics; the world's topics are destroyed with the node."""
        for name in list(self._outlets):
            self._close(name)

    def refresh(self) -> None:
        """Check which topics have subscribers."""
        if self.cameras is not None:
            self.cameras.attend()
        self._clock.refresh()
        for interface in self.interfaces:
            interface.refresh()
        self.world_interface.refresh()

    # --- inside ----------------------------------------------------------------------------------

    def _open(self, added: Sequence[LoadedRobot]) -> list[RobotInterface]:
        """Open the topics for added robots, and publish the world's current contents."""
        # new topics and their messages are recorded even while no step is taken
        self._sink.begin(self.time_ns)
        opened = []
        for loaded in added:
            self._joints |= dict.fromkeys(loaded.robot.joint_names)
            interface = self._add_interface(loaded)
            self.journal.add_interface(interface)
            self._listen(interface)
            opened.append(interface)
        self._populate()
        return opened

    @property
    def _step_time_ns(self) -> int:
        """Current step's time [ns]."""
        time_ns: int = self._epoch_ns + self._simulation.run.step_count * self._step_ns
        return time_ns

    def _add_interface(self, loaded: LoadedRobot) -> RobotInterface:
        outlets = ClosingSink(self._sink)
        try:
            interface = RobotInterface(
                outlets,
                loaded,
                self._parameters,
                list(self._joints),
                self.lockstep,
                lambda: self._step_time_ns,
            )
            check_distinct(
                topic.name
                for each in [*self.interfaces, interface]
                for topic in each.command_topics
            )
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
        """Publish the robots and objects now in the world."""
        for interface in self.interfaces:
            interface.locate()
        self.world_interface.populate(self._prefixes(), self._reckoned())
        self.world_interface.resume(self.time_ns)
        self._renew_cameras()

    def feed_cameras(self, feed: CameraFeed) -> None:
        """Publish the robots' camera pictures from now on; raises InvalidValueError."""
        self.cameras = feed
        self._renew_cameras()

    def _renew_cameras(self) -> None:
        if self.cameras is not None:
            self.cameras.renew(
                Carrier(one.robot, one.prefix, one.frame_prefix) for one in self.interfaces
            )

    def _prefixes(self) -> dict[str, str]:
        return {one.robot.name: one.frame_prefix for one in self.interfaces}

    def _reckoned(self) -> dict[str, Drive]:
        """Return drives providing a robot's pose in its odom frame, by robot name."""
        return {
            one.robot.name: each.drive
            for one in self.interfaces
            for each in one.drives
            if each.drive.description.provides_tf and not one.robot.fixed_base
        }

    def _set_clock(self, time_ns: int, before_ns: int) -> None:
        """Make /clock jump from one time to another [ns]; the world may already have jumped."""
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
        self.world_interface.publish_state(time_ns, stamp)
        self._clock_rate.restart(time_ns)
        self._clock.publish(stamp)


def _lockstep_of(loaded: LoadedWorld, parameters: SimulatorParameters) -> LockstepPolicy:
    """Return the lockstep policy. Raises UnknownNameError or InvalidValueError."""
    if not parameters.lockstep:
        return FreeRunning()
    return Lockstep(
        parameters.lockstep,
        [f'{each.prefix}{STAMPED_TOPIC}' for each in loaded.robots],
        timeout_s=parameters.lockstep_timeout,
    )


def _listed(parts: Any) -> list[list[float]] | None:
    """Return arrays as lists for JSON."""
    return None if parts is None else [list(map(float, part)) for part in parts]
