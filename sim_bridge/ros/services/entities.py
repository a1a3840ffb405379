"""
Entities in a running simulation: everything in the world, spawned and removed at run time.

An entity is a robot in the library's sense. Entities with joints, sensors or tracks have their own
topics; the others are objects. An OpenPLX scene may consist of several entities; it is removed by
its own name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import NamedTuple, Protocol, TYPE_CHECKING

import numpy as np

from sim_bridge.description.scene.changes import changes_from_text
from sim_bridge.foundation.errors import (
    coded,
    ErrorCode,
    InvalidValueError,
    SimBridgeError,
    UnknownNameError,
)
from sim_bridge.foundation.names import free_name
from sim_bridge.foundation.rotation import matrix_from_quaternion, quaternion_from_matrix
from sim_bridge.foundation.validation import finite_vector, unit_quaternion
from sim_bridge.ros.process.background import Background
from sim_bridge.ros.publish.kernel_reports import reporting_kernels
from sim_bridge.ros.services.bounds import box_around
from sim_bridge.ros.session.loading import check_namespace, has_interface, LoadedRobot
from sim_bridge.ros.session.remarks import left_out_text, missing_place_text
from sim_bridge.ros.session.spawn_request import (
    add_scene,
    check_name,
    compile_beside,
    load_pattern,
    namespace_of,
    prepare,
    robots_spawned,
    ScenePattern,
    SpawnRequest,
)
from sim_bridge.ros.wire.messages import WORLD_FRAME

if TYPE_CHECKING:
    from rclpy.node import Node

    import sim_bridge as sb
    from sim_bridge.ros.command.joint_controls import JointControls
    from sim_bridge.ros.params.parameters import SimulatorParameters
    from sim_bridge.ros.process.executor_calls import ExecutorCalls
    from sim_bridge.ros.process.pacer import Pacer
    from sim_bridge.ros.session.robot_interface import RobotInterface
    from sim_bridge.ros.session.simulator import Simulator
    from sim_bridge.shapes.shapes import Shape

# called with the name of the spawned entity, or the error
Spawned = Callable[['str | SimBridgeError'], None]
# names of added entities, and the function that opens their topics
_Added = tuple[list[str], Callable[[], None]]
_Pose = tuple['np.ndarray', 'np.ndarray']
# called with None, or the error
Changed = Callable[['SimBridgeError | None'], None]
# called with boxes by entity name, or the error
Measured = Callable[['dict[str, np.ndarray | None] | SimBridgeError'], None]


class Companion(Protocol):
    """Node parts that belong to a robot; on the executor's thread."""

    def add(self, interface: RobotInterface) -> None:
        """Add the parts for a robot with newly opened topics."""

    def remove(self, interface: RobotInterface) -> None:
        """Remove a removed robot's parts."""


class EntityNote(NamedTuple):
    """Information on an entity that a client has set; category: number in EntityCategory."""

    category: int
    description: str
    tags: tuple[str, ...]


class Entities:
    """
    Robots and objects in the world; called on the physics thread.

    Another thread reads a spawned robot and compiles its kernels. The robot then enters the world
    between two steps, so spawning delays no step.
    """

    def __init__(
        self,
        simulator: Simulator,
        controls: JointControls,
        pacer: Pacer,
        calls: ExecutorCalls,
        parameters: SimulatorParameters,
        node: Node,
    ) -> None:
        """Start with the loaded entities. node: reports compilation on /diagnostics."""
        self._node = node
        self._simulator, self._pacer = simulator, pacer
        self._calls, self._parameters = calls, parameters
        self._companions: list[Companion] = [controls]
        self._background = Background()
        # boxes for shipped robots; only the background thread accesses them
        self._boxes: dict[str, np.ndarray | None] = {}
        self._loaded = simulator.world.census()
        self._spawned: set[str] = set()
        self.notes: dict[str, EntityNote] = {}
        """Information set by clients, by entity name."""

    def accompany(self, companion: Companion) -> None:
        """Tell something about each robot that comes and goes from now on."""
        self._companions.append(companion)

    @property
    def world(self) -> sb.World:
        """The world containing the entities."""
        return self._simulator.world

    @property
    def missing(self) -> list[str]:
        """Names of loaded entities removed since."""
        present = set(self.world.census())
        return [name for name, number in self._loaded if (name, number) not in present]

    def get(self, name: str) -> sb.Robot:
        """Return an entity by name; raises UnknownNameError."""
        if name not in self.world.robots:
            raise UnknownNameError('entity', name, self.world.robots, 'the world')
        return self.world.robots[name]

    def is_robot(self, name: str) -> bool:
        """Return whether an entity has its own topics."""
        return any(interface.robot.name == name for interface in self._simulator.interfaces)

    def spawn(self, request: SpawnRequest, on_done: Spawned) -> None:
        """
        Add a robot or a scene once it is ready; on the physics thread.

        on_done: called on the physics thread. Errors are DescriptionError or another
        SimBridgeError; `code` gives the cause.
        """
        self._background.submit(lambda: self._prepare(request, on_done))

    def measure(self, names: Iterable[str], on_done: Measured) -> None:
        """
        Compute bounding boxes for shipped robots by name; see `box_around`.

        on_done: called on the physics thread with the boxes, or with the error.
        """
        wanted = list(names)
        self._background.submit(lambda: self._measure(wanted, on_done))

    def change(self, text: str, on_done: Changed) -> None:
        """
        Change entities according to a YAML text; see `description.scene.changes`.

        on_done: called on the physics thread with None, or the error. Kernels for new shapes are
        compiled before, while the simulation runs.
        """
        changes = changes_from_text(text, "parameter 'changes'")
        added = [placed.shape for change in changes for placed in change.added]
        if not added:
            self._change(text, on_done)
            return
        present = self._shapes()

        def prepare_shapes() -> None:
            try:
                with reporting_kernels(self._node):
                    compile_beside(added, present, self._parameters)
            except Exception as err:  # noqa: BLE001 - passed on to the caller
                failure = _as_own_error(err)
                self._pacer.submit(lambda: on_done(failure))
                return
            self._pacer.submit(lambda: self._change(text, on_done))

        self._background.submit(prepare_shapes)

    def remove(self, name: str) -> None:
        """Remove an entity, or a whole scene, with its topics; raises UnknownNameError."""
        for part in self.parts(name) or [self.get(name).name]:
            self._calls.call(partial(self._withdraw, part))
            self._spawned.discard(part)
            self.notes.pop(part, None)

    def parts(self, name: str) -> list[str]:
        """Return the entity names in the OpenPLX scene with this name; [] if there is none."""
        scene = self.world.openplx.get(name)
        own = [] if scene is None else [robot.name for robot in scene.robots]
        # a separate robot may have the name of a loaded scene
        return [] if name in self.world.robots and name not in own else own

    def remove_spawned(self) -> list[str]:
        """Remove all spawned entities; return their names."""
        names = [name for name in self.world.robots if name in self._spawned]
        for name in names:
            self.remove(name)
        return names

    def pose_in_world(
        self, frame: str, position: object, orientation: object, what: str = 'initial_pose'
    ) -> tuple[np.ndarray, np.ndarray]:
        """
        Return a pose's position [m] and quaternion x y z w in the world, from a pose in `frame`.

        frame: '' or 'world'; an entity's name, for its root link; or a link's frame name on the
        graph. Raises UnknownNameError for other frames, InvalidValueError for an invalid pose.
        """
        p = finite_vector('position', position, 3, what)
        quat = unit_quaternion(orientation, what)
        link = self.frame(frame)
        if link is None:
            return p, quat
        rotation = link.R @ matrix_from_quaternion(quat.tolist())
        return link.p + link.R @ p, quaternion_from_matrix(rotation)

    def frame(self, name: str) -> sb.Link | None:
        """Return the link with this frame name; None for the world. Raises UnknownNameError."""
        if name in ('', WORLD_FRAME):
            return None
        if name in self.world.robots:
            return self.world.robots[name].root_link
        links = {
            f'{interface.frame_prefix}{link.name}': link
            for interface in self._simulator.interfaces
            for link in interface.robot.links
        }
        if name not in links:
            raise UnknownNameError(
                'frame', name, [WORLD_FRAME, *self.world.robots, *links], 'the simulation'
            )
        return links[name]

    def close(self) -> None:
        """Accept no further spawn requests."""
        self._background.close()

    # --- on the background thread ----------------------------------------------------------------

    def _measure(self, names: list[str], on_done: Measured) -> None:
        try:
            for name in names:
                if name not in self._boxes:
                    # a box needs no step kernels
                    _, pattern = load_pattern(SpawnRequest(name), self._parameters)
                    self._boxes[name] = box_around(
                        pattern.scene if isinstance(pattern, ScenePattern) else pattern
                    )
        except Exception as err:  # noqa: BLE001 - passed on to the caller
            failure = _as_own_error(err)
            self._pacer.submit(lambda: on_done(failure))
            return
        boxes = {name: self._boxes[name] for name in names}
        self._pacer.submit(lambda: on_done(boxes))

    def _prepare(self, request: SpawnRequest, on_done: Spawned) -> None:
        try:
            check_name(request)
            with reporting_kernels(self._node):
                pattern = prepare(request, self._parameters, self._shapes())
        except Exception as err:  # noqa: BLE001 - passed on to the caller
            failure = _as_own_error(err)
            self._pacer.submit(lambda: on_done(failure))
            return
        self._pacer.submit(lambda: on_done(self._admit(request, pattern)))

    def _shapes(self) -> list[Shape]:
        """Return all collision shapes, on any thread."""
        # a copy, since the physics thread may add or remove entities meanwhile
        robots = list(self.world.robots.values())
        return [geometry.shape for robot in robots for geometry in robot.geometries]

    # --- on the physics thread -------------------------------------------------------------------

    def _change(self, text: str, on_done: Changed) -> None:
        try:
            self._calls.call(partial(self._simulator.change, text))
        except Exception as err:  # noqa: BLE001 - passed on to the caller
            on_done(_as_own_error(err))
        else:
            on_done(None)

    def _admit(
        self, request: SpawnRequest, pattern: sb.Robot | ScenePattern
    ) -> str | SimBridgeError:
        """
        Add a robot or scene to the world; return its name there, or the error.

        pattern: the loaded robot or scene, which is copied.
        """
        try:
            with coded(ErrorCode.POSE_INVALID):
                pose = self.pose_in_world(request.frame, request.position, request.orientation)
            name = self._name_for(request, pattern.name)
            if isinstance(pattern, ScenePattern):
                added, announce = self._add_scene(request, pattern, name, pose)
            else:
                added, announce = self._add_robot(request, pattern, name, pose)
        except SimBridgeError as err:
            return err
        try:
            self._calls.call(announce)
        except Exception as err:  # noqa: BLE001 - ROS raises its own errors
            for each in added:
                self._calls.call(partial(self._withdraw, each))
            return _as_own_error(err)
        self._spawned.update(added)
        return name

    def _add_robot(
        self, request: SpawnRequest, pattern: sb.Robot, name: str, pose: _Pose
    ) -> _Added:
        loaded = None
        if has_interface(pattern):
            namespace = namespace_of(request, name)
            check_namespace(name, namespace, self._simulator.interfaces, 'namespace')
            loaded = LoadedRobot(pattern, namespace)
        robot = self.world.add_copy(pattern, name, *pose)
        if loaded is not None:
            loaded = replace(loaded, robot=robot)
        return [name], lambda: self._announce([self._simulator.add(robot, loaded, *pose)])

    def _add_scene(
        self, request: SpawnRequest, pattern: ScenePattern, name: str, pose: _Pose
    ) -> _Added:
        namespace, (position, orientation) = namespace_of(request, name), pose
        at = position.tolist(), orientation.tolist()
        scene = add_scene(self.world, pattern.scene.description, name, at)
        loaded = robots_spawned(scene, namespace, bool(request.namespace))
        return self.parts(name), lambda: self._announce(
            self._simulator.add_scene(scene, pattern.source, at, loaded)
        )

    def _name_for(self, request: SpawnRequest, wanted: str) -> str:
        """Return an unused name; raises InvalidValueError if the name may not be changed."""
        taken = {**self.world.robots, **self.world.openplx}
        if wanted not in taken:
            return wanted
        if not request.allow_renaming:
            raise InvalidValueError(
                'name',
                wanted,
                'an unused name, or permission to change it '
                f'(allow_renaming); taken: {", ".join(taken)}',
                code=ErrorCode.NAME_TAKEN,
            )
        return free_name(wanted, taken.__contains__)

    # --- on the executor's thread, while the physics thread waits --------------------------------

    def _announce(self, interfaces: Iterable[RobotInterface | None]) -> None:
        """Declare the parameters of robots with newly opened topics."""
        for interface in interfaces:
            if interface is not None:
                robot = interface.robot
                for text in filter(None, (left_out_text(robot), missing_place_text(robot))):
                    self._node.get_logger().warning(text)
                for each in self._companions:
                    each.add(interface)

    def _withdraw(self, name: str) -> None:
        """Remove a robot with all its topics."""
        interface = self._simulator.remove(name)
        if interface is not None:
            for each in self._companions:
                each.remove(interface)


def _as_own_error(err: Exception) -> SimBridgeError:
    """Return an error as a SimBridgeError; others are given with class name and message."""
    return (
        err if isinstance(err, SimBridgeError) else SimBridgeError(f'{type(err).__name__}: {err}')
    )
