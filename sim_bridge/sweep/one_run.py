"""One run: the node's simulator without a real-time clock, and the resulting row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
import contextlib
from dataclasses import replace
from functools import partial
import hashlib
import os
from pathlib import Path
import socket
import time
import traceback
from typing import TYPE_CHECKING

import numpy as np
from std_msgs.msg import String

from sim_bridge.foundation.errors import (
    brief,
    InvalidValueError,
    shortened,
    SimBridgeError,
    StateError,
    UnknownNameError,
)
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.ros.bag.bag_sink import absolute
from sim_bridge.ros.bag.described_files import fingerprints
from sim_bridge.ros.bag.expressions import Expression
from sim_bridge.ros.bag.recording import recorder_of, Recording, sink_of
from sim_bridge.ros.command.command_inbox import STAMPED_TOPIC
from sim_bridge.ros.command.hardware import hardware_of
from sim_bridge.ros.command.joint_controls import JointControls, NoNode
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.publish.sinks import Tee
from sim_bridge.ros.session.loading import load_world
from sim_bridge.ros.session.simulator import Simulator
from sim_bridge.ros.wire.cdr import deserialize
from sim_bridge.sweep.controllers import make_controller, Situation
from sim_bridge.sweep.gathering import MemorySink
from sim_bridge.sweep.links import Link
from sim_bridge.sweep.plan import (
    ControllerPlan,
    Disturbance,
    DISTURBANCES,
    FUNCTION,
    NO_CONTROLLER,
    NODE,
    Plan,
)
from sim_bridge.sweep.reductions import MEASURING
from sim_bridge.sweep.rows import DONE, FAILED, processor, Row, versions
from sim_bridge.sweep.run_parameters import (
    as_yaml,
    params_of,
    robot_of,
    scene_of,
    simulator_parameters,
)
from sim_bridge.sweep.study import Study
from sim_bridge.sweep.user_code import file_of

if TYPE_CHECKING:
    from sim_bridge.ros.publish.sinks import Sink
    from sim_bridge.ros.session.loading import LoadedWorld
    from sim_bridge.sweep.node_session import NodeSession

_LONGEST_REASON = 2000


def make_run(
    study: Study, run: int, bag: str = '', loaded: Callable[[], None] = lambda: None
) -> Row:
    """
    Make a run and return its row, even if it fails.

    bag: folder for its recording, must not exist; '' for none. loaded: called once the world
    is built.
    """
    begun = time.perf_counter()
    inputs = study.design.of(run)
    row = Row(
        run,
        FAILED,
        success=False if study.criteria else None,
        inputs=inputs,
        noise_seed=study.design.noise_seed(run),
        versions=versions(),
        host=socket.gethostname(),
        processor=processor(),
    )
    try:
        _Run(study, run, row, bag).make(loaded)
        row.status = DONE
    except SimBridgeError as err:
        row.reason = str(err)[:_LONGEST_REASON]
    except Exception as err:  # noqa: BLE001 - an unexpected error must not stop the other runs
        row.reason = _described(err)
    row.wall_s = time.perf_counter() - begun
    return row


def _described(error: Exception) -> str:
    """Return an unexpected exception in words, with its location."""
    frames = traceback.extract_tb(error.__traceback__)[-1:]
    where = ''.join(f' ({frame.filename}:{frame.lineno})' for frame in frames)
    return f'{type(error).__name__}: {brief(str(error))}{where}'[:_LONGEST_REASON]


class _Run:
    """Run in progress; fills its row step by step."""

    def __init__(self, study: Study, run: int, row: Row, bag: str) -> None:
        self._study, self._row, self._bag = study, row, bag
        self._faults = study.design.faults(run)
        self._measures = {
            name: Expression(text, MEASURING) for name, text in study.measures.items()
        }
        self._stack = contextlib.ExitStack()
        self._links: dict[str, Link] = {}
        self._session: NodeSession | None = None

    def make(self, loaded: Callable[[], None]) -> None:
        """Make the run; raises the error that ends it early."""
        row, begun = self._row, time.perf_counter()
        plan = self._study.plan(row.inputs)
        with self._stack:
            simulator, tick_ns, steps = self._begin(plan)
            row.load_s = time.perf_counter() - begun
            loaded()
            try:
                self._simulate(simulator, tick_ns, steps)
            finally:
                row.steps = simulator.world.step_count // self._parameters.substeps
                row.simulated_s = row.steps * tick_ns * 1e-9
                row.state_hash = str(simulator.world.state_hash())
        self._measure()

    def _begin(self, plan: Plan) -> tuple[Simulator, int, int]:
        """Build world and controllers; return the simulator, its step [ns] and the step count."""
        study = self._study
        world, robot = scene_of(plan, study.folder), robot_of(plan, study.folder)
        params = params_of(plan, study.folder)
        self._parameters = parameters = simulator_parameters(
            plan, study.folder, self._row.noise_seed, self._bag
        )
        loaded = load_world(parameters)
        self._loaded = loaded
        plans = _plans_by_namespace(plan, loaded)
        nodes = {name: each for name, each in plans.items() if each.kind == NODE}
        if nodes:
            parameters = self._parameters = _in_lockstep(parameters, plans)
        self._row.files = self._fingerprints(plan, loaded, parameters)
        disturbances = _addressed(plan.disturbances, loaded, plans)
        measured = self._sink = MemorySink(
            [each for expression in self._measures.values() for each in expression.references],
            'the run',
        )
        situations = {
            each.namespace: Situation(
                each.namespace,
                each.joints or each.robot.actuated_joints,
                world,
                robot,
                params,
                study.folder,
            )
            for each in loaded.robots
        }
        takers: dict[str, Callable[[bytes], None]] = {}
        for name, each in plans.items():
            if each.kind not in (NODE, NO_CONTROLLER):
                self._links[name] = self._link(
                    each,
                    situations[name],
                    takers,
                    loaded,
                    measured,
                    [
                        what
                        for what in disturbances
                        if what.robot == name and DISTURBANCES[what.kind].of == 'controller'
                    ],
                )
        sink: Sink = measured
        if nodes:
            # imported here, since few runs need a graph
            from sim_bridge.sweep.node_session import NodeSession

            session = self._session = self._stack.enter_context(
                NodeSession(str(study.source.name))
            )
            sink = Tee(session.sink, measured)
        simulator = self._open(sink, loaded, parameters)
        takers.update(
            {
                topic.name: topic.take
                for interface in simulator.interfaces
                for topic in interface.command_topics
            }
        )
        if self._session is not None:
            self._session.start(nodes, situations, simulator)
        if plan.changes:
            simulator.change(as_yaml(plan.changes))
        self._disturbances = [
            each
            for each in disturbances
            if DISTURBANCES[each.kind].of != 'controller' or each.kind == 'death'
        ]
        self._nodes = nodes
        return (
            simulator,
            parameters.tick_ns,
            max(1, round(plan.duration * 1e9 / parameters.tick_ns)),
        )

    def _open(self, sink: Sink, loaded: LoadedWorld, parameters: SimulatorParameters) -> Simulator:
        """Open the topics, also in a bag if requested."""
        recorder = None
        try:
            if self._bag:
                recorder = recorder_of(parameters, Path(self._bag).absolute(), waits=True)
                bag = sink_of(parameters, recorder, absolute, int)
                simulator = Simulator(Tee(sink, bag), loaded, parameters)
                JointControls(NoNode(), simulator.interfaces, parameters)
                recording = Recording(bag, simulator, loaded, parameters)
                self._stack.callback(recording.close)
                return simulator
            simulator = Simulator(sink, loaded, parameters)
            JointControls(NoNode(), simulator.interfaces, parameters)
            return simulator
        except SimBridgeError:
            if recorder is not None:
                recorder.discard()
            raise

    def _link(
        self,
        plan: ControllerPlan,
        situation: Situation,
        takers: Mapping[str, Callable[[bytes], None]],
        loaded: LoadedWorld,
        sink: MemorySink,
        faults: Sequence[Disturbance],
    ) -> Link:
        """Return the link to a controller in this process, connected to its topics."""
        own = next(each for each in loaded.robots if each.namespace == situation.namespace)
        prefix = own.prefix
        commands = f'{prefix}{STAMPED_TOPIC}'
        link = Link(
            make_controller(plan, situation),
            lambda data: takers[commands](data),
            faults,
            self._faults,
        )
        states = hardware_of(own.robot, prefix).states_topic or f'{prefix}joint_states'
        sink.listen(absolute(states), link.show)
        sink.listen(absolute(f'{prefix}robot_description'), partial(_describe, link))
        return link

    def _simulate(self, simulator: Simulator, tick_ns: int, steps: int) -> None:
        due = sorted(self._disturbances, key=lambda each: each.begin, reverse=True)
        # controllers get the initial state before the first step
        if self._session is None and self._links:
            simulator.show_state()
        links = list(self._links.values())
        for step in range(steps):
            time_s = step * tick_ns * 1e-9
            # tolerance for rounding: half a step
            while due and due[-1].begin <= time_s + 0.5e-9 * tick_ns:
                self._disturb(simulator, due.pop())
            if self._session is not None:
                simulator.is_ready()
            for link in links:
                link.answer(step, time_s)
            if self._session is not None:
                self._session.wait(simulator)
            simulator.tick()

    def _disturb(self, simulator: Simulator, what: Disturbance) -> None:
        """Apply a disturbance before the next step."""
        with _named_errors(f'disturbance {what.name}'):
            self._happens(simulator, what)

    def _happens(self, simulator: Simulator, what: Disturbance) -> None:
        values = what.values
        if what.kind == 'push':
            link = values['link'] or simulator.world.robots[what.robot].root_link.name
            simulator.push(what.robot, link, values['force'], what.end - what.begin)
        elif what.kind == 'change':
            simulator.change(as_yaml(values['changes']))
        elif what.kind == 'settings':
            simulator.configure(values)
        elif what.kind == 'force_fields':
            simulator.set_force_fields(as_yaml(values['force_fields']))
        elif what.kind == 'move':
            _move(simulator, what)
        elif self._session is not None and what.robot in self._nodes:
            self._session.kill(what.robot)

    def _fingerprints(
        self, plan: Plan, loaded: LoadedWorld, parameters: SimulatorParameters
    ) -> dict[str, str]:
        """Return the SHA-256, by path, for the run's files except the study."""
        folder = self._study.folder
        found = dict(fingerprints(loaded, parameters))
        for each in plan.controllers.values():
            file = file_of(each.call, folder) if each.kind == FUNCTION else None
            files = (
                [file]
                if file is not None
                else [folder / word for word in each.command if (folder / word).is_file()]
            )
            found.update(
                {
                    str(path.resolve()): _digest(path.read_bytes())
                    for path in files
                    if path.is_file()
                }
            )
        if plan.params:
            path = folder / plan.params
            found[str(path.resolve())] = _digest(path.read_bytes())
        # the description contains the files read by xacro
        found.update(
            {
                f'description of {each.robot.name}': _digest(each.robot.description.xml.encode())
                for each in loaded.robots
                if each.robot.description is not None
            }
        )
        return {_relative(path, folder): value for path, value in sorted(found.items())}

    def _measure(self) -> None:
        row = self._row
        sink = self._sink
        with np.errstate(all='ignore'):
            try:
                data = sink.series()
                row.measures = {
                    name: expression.number(data) for name, expression in self._measures.items()
                }
            except SimBridgeError:
                # evaluate each measure alone, to name the failing one
                for name, expression in self._measures.items():
                    with _named_errors(f'measure {name} ({shortened(expression.text)})'):
                        expression.number(sink.series(expression.references))
                raise
        known = {**row.inputs, **row.measures}
        row.criteria = {name: each.holds(known) for name, each in self._study.criteria.items()}
        row.success = all(row.criteria.values()) if row.criteria else None


@contextlib.contextmanager
def _named_errors(what: str) -> Iterator[None]:
    """Raise errors as StateError with their origin as prefix."""
    try:
        yield
    except SimBridgeError as err:
        raise StateError(f'{what}: {err}') from err


def _describe(link: Link, data: bytes) -> None:
    link.describe(deserialize(data, String).data)


def _in_lockstep(
    parameters: SimulatorParameters, plans: Mapping[str, ControllerPlan]
) -> SimulatorParameters:
    """Return parameters for lockstep with all controllers."""
    return replace(
        parameters,
        lockstep=tuple(
            f'{name}/{STAMPED_TOPIC}' if name else STAMPED_TOPIC
            for name, each in plans.items()
            if each.kind != NO_CONTROLLER
        ),
    )


def _plans_by_namespace(plan: Plan, loaded: LoadedWorld) -> dict[str, ControllerPlan]:
    """Return controller plans by robot namespace; raises for a plan without a robot."""
    robots = {each.namespace: each for each in loaded.robots}
    plans = dict(plan.controllers)
    if set(plans) == {''} and '' not in robots:
        moved = [name for name, each in robots.items() if each.robot.actuated_joints]
        if len(moved) != 1:
            raise InvalidValueError(
                'controller',
                'one',
                f'controllers, by namespace: {", ".join(moved)}'
                if moved
                else 'none: no robot has a joint to control',
            )
        plans = {moved[0]: plans['']}
    for name in plans:
        if name not in robots:
            raise UnknownNameError('robot with the namespace', name, robots, 'controllers')
    return plans


def _addressed(
    disturbances: Sequence[Disturbance], loaded: LoadedWorld, plans: Mapping[str, ControllerPlan]
) -> list[Disturbance]:
    """Return disturbances with the target entity or controller filled in."""
    found = []
    for each in disturbances:
        of = DISTURBANCES[each.kind].of
        place = f'disturbance {each.name!r}'
        if of == 'world':
            found.append(each)
            continue
        known = (
            list(loaded.world.robots)
            if of == 'entity'
            else [name for name, plan in plans.items() if plan.kind != NO_CONTROLLER]
        )
        robot = each.robot
        if not robot and robot not in known:
            if len(known) != 1:
                raise InvalidValueError(
                    'robot',
                    'none',
                    f'one of {", ".join(known)}' if known else 'a run with a controller',
                    place,
                )
            robot = known[0]
        if robot not in known:
            raise UnknownNameError('robot', robot, known, place)
        if of == 'controller' and plans[robot].kind == NODE and each.kind != 'death':
            raise InvalidValueError(
                'kind', each.kind, 'death, for a node: lockstep waits for its answers', place
            )
        found.append(replace(each, robot=robot))
    return found


def _move(simulator: Simulator, what: Disturbance) -> None:
    """Set an entity's pose or velocity; missing parts stay unchanged."""
    values, root = what.values, simulator.world.robots[what.robot].root_link
    pose = twist = None
    if values['position'] or values['orientation']:
        pose = (
            values['position'] or root.p.tolist(),
            values['orientation'] or quaternion_from_matrix(root.R).tolist(),
        )
    if values['linear_velocity'] or values['angular_velocity']:
        twist = (
            values['linear_velocity'] or root.v.tolist(),
            values['angular_velocity'] or root.w.tolist(),
        )
    simulator.move(what.robot, pose, twist)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _relative(path: str, folder: Path) -> str:
    """Return a path relative to the study's folder, if it is inside."""
    start = f'{folder}{os.sep}'
    return path[len(start) :] if path.startswith(start) else path
