"""Constraint joint backend: rows that close a loop or are compliant."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sim_bridge.compilation.compile import free_axes
from sim_bridge.description.compliance import Compliance
from sim_bridge.engine.data import loops as engine
from sim_bridge.engine.data.loops import AxisValues, LoopJoint, Loops
from sim_bridge.engine.data.state import (
    BY_EFFORT,
    COURSE_SIZE,
    FRICTION_SHARE,
    MOTOR_SHARE,
    State,
    STOP_SHARE,
)
from sim_bridge.foundation.attributes import ReadOnly
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.robots.joints.arguments import direction
from sim_bridge.robots.joints.free_axes import FreeAxes
from sim_bridge.robots.joints.spec import JointSpec
from sim_bridge.robots.joints.tree import PARAMETERS
from sim_bridge.simulation.change import Change
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.slots import RobotSlot

Softness = tuple[float | tuple[float, ...], float | tuple[float, ...]]
"""ERP [1] and CFM [m/(N s), rad/(N m s)] of a joint: one number for all rows, or one per row."""

_ERP = 0.2
_DIRECTIONS = tuple(f'{way} {axis}' for way in ('along', 'about') for axis in 'xyz')


class ConstraintJointBackend:
    """
    Backend for a joint solved as constraint rows.

    name: joint name. key: name among the world's joints. spec: current specification. place:
    name for messages. frames: on both links. coordinates: nq and nv, both the axis count.
    joint: the public joint. start: (n,) positions set by `restart` [m, rad].
    """

    mimic = None
    """Mimic law: none for constraint joints."""
    joint: Any

    def __init__(
        self, simulation: Simulation, key: str, spec: JointSpec, start: np.ndarray | None = None
    ):
        """
        Create the backend for a joint that is not yet among the simulation's constraints.

        key: name among the world's joints; for a robot's joint it begins with the robot's name.
        start: (n,) positions set by `restart` [m, rad]; measured now if None.
        """
        self._simulation = simulation
        self.key = key
        self.spec = spec
        self.place = f'joint {key!r}'
        self.name = spec.name
        self.type = spec.type
        self.frames = spec.constraint_frames
        self._rows = tuple(
            row
            for row in engine.ROWS_OF_TYPE[spec.type]
            if engine.direction_of(row) not in spec.loose
        )
        self._references = [_reference_of(row, spec) for row in self._rows]
        self._distance = np.array([spec.distance])
        self._softness: Softness = (
            _ERP if spec.erp is None else spec.erp,
            0.0 if spec.cfm is None else spec.cfm,
        )
        if spec.compliance is not None:
            self._softness = self._softness_of(spec.compliance)
        self._suspension = spec.suspension
        axes = engine.AXES_OF_TYPE[spec.type] if spec.axes is None else spec.axes
        count = len(axes)
        self.free = FreeAxes(
            self.frames, axes, np.zeros((count, 3)) if spec.vectors is None else spec.vectors
        )
        self.axis_count = count
        self.coordinates = count, count
        self.first_axis = 0
        """First row in the axis arrays of all constraints."""
        self._toughness = np.full(engine.TOUGHNESS_SIZE, np.inf)
        if spec.toughness is not None:
            self._toughness[: len(spec.toughness)] = spec.toughness
        self._broken = np.zeros(1, np.int64)
        self._loops: Loops | None = None
        self._row = 0
        self._values = _values(count)
        self._values.q[:] = self.free.positions(self._values.q) if start is None else start
        self.start = self._values.q.copy()

    has_user_axes = ReadOnly[bool](
        'free.are_users', 'Whether the axes are independent; otherwise they share work.'
    )

    @property
    def owner(self) -> str:
        """Names of the connected links, for the joint's repr."""
        names = [frame.link.name if frame.link else 'the world' for frame in self.frames[:2]]
        return ' and '.join(names)

    # --- coordinates, efforts and parameters -----------------------------------------------------

    def settle(self) -> None:
        """Do nothing: positions and velocities are copies."""

    def positions(self) -> np.ndarray:
        """Return the second link's positions (n,) relative to the first [m, rad]; a copy."""
        self._check_coordinates()
        return self.free.positions(self._values.q)

    def velocities(self) -> np.ndarray:
        """Return the axis rates (n,) [m/s, rad/s]; a copy."""
        self._check_coordinates()
        return self.free.velocities()

    def accelerations(self) -> np.ndarray:
        """Return the accelerations (n,) under the last step's mean efforts [m/s², rad/s²]."""
        self._check_coordinates()
        return self.free.accelerations()

    def efforts(self) -> np.ndarray:
        """Return the applied efforts u (n,) [N, N m]; a view."""
        self._check_coordinates()
        self._simulation.cache.settle()
        return self._values.u

    def check_movable(self, what: str, place: str = '') -> None:
        """
        Raise StateError, except for an angular motor's q with independent axes.

        place: for the message, if not the joint.
        """
        if what == 'q' and self.has_user_axes:
            return
        raise StateError(
            f'{what} of {place or self.place} follows from its links: move the links, or set its '
            'motor'
        )

    def set_positions(self, rows: slice, values: np.ndarray | float) -> None:
        """Set the angles about an angular motor's independent axes; they count on from there."""
        self.write('q', rows, values)

    def write(self, field: str, index: Any, values: Any) -> None:
        """Write rows in a parameter array or a `states` array; commands wake the robots."""
        self._simulation.cache.settle()
        robots = () if field in PARAMETERS else self._robots
        self._simulation.write(self._values, field, index, values, robots)

    def change(self) -> Change:
        """Return a context for several writes: either all take effect, or none."""
        self._simulation.cache.settle()
        return Change(self._simulation.staleness, self)

    def set_direction(self, number: int, value: object, place: str) -> None:
        """Turn an angular motor's independent axis to a world vector."""
        if not self.free.are_users:
            raise StateError(f'the direction of {place} follows from its joint')
        directions = self.free.directions()
        directions[number] = direction('direction', value, place)
        first, second = self.spec.first, self.spec.second
        angles = self.states('q').copy()
        with self.change():
            self.become(
                replace(self.spec, vectors=self.free.vectors_on(first, second, directions))
            )
            self._simulation.write(self._values, 'q', slice(None), angles)

    def become(self, spec: JointSpec) -> None:
        """
        Move the joint to another specification with the same type, from the next step on.

        Axis parameters, compliance and break limits stay. `restart` returns to the positions
        measured now.
        """
        with self.change():
            self._become(spec)

    def _become(self, spec: JointSpec) -> None:
        write = self._simulation.write
        self.spec = spec
        self.frames = spec.constraint_frames
        self._references = [_reference_of(row, spec) for row in self._rows]
        self._distance = np.array([spec.distance])
        self.free = FreeAxes(
            self.frames,
            self.free.pairs,
            self.free.kinds.axis_vector if spec.vectors is None else spec.vectors,
        )
        self.start = self.free.positions(np.zeros(self.axis_count))
        write(self._values, 'q', slice(None), self.start, self._robots)
        record = self.record()
        if self._rows or self._loops is None or record.body != tuple(self._loops.body[self._row]):
            self._simulation.registry.reconnect_joints()
            return
        # joints without rows may be moved in every step: write their values in place
        first = self.first_axis
        write(self._loops, 'frame', self._row, record.frame)
        write(self._loops, 'axis_vector', slice(first, first + self.axis_count), record.vectors)

    def set_efforts(self, rows: slice, values: np.ndarray | float) -> None:
        """Set finite efforts."""
        self.write('u', rows, values)

    def parameters(self, array: str) -> np.ndarray:
        """
        Return the axes' rows (n, k) of a parameter array; a view.

        array: 'passive', 'limits', 'motor' or 'stop'.
        """
        self._simulation.cache.settle()
        return getattr(self._values, array)

    def states(self, array: str) -> np.ndarray:
        """Return the axes' values (n, …) of a state array; see `TreeJointBackend.states`."""
        self._simulation.cache.settle()
        efforts = self._values.effort
        if array == 'friction':
            return efforts[:, FRICTION_SHARE]
        if array == 'motor':
            return efforts[:, MOTOR_SHARE]
        if array == 'force':
            return efforts[:, FRICTION_SHARE] + efforts[:, STOP_SHARE]
        return getattr(self._values, array)

    def view(self, what: str, number: int) -> np.ndarray | None:
        """Return a view (1,) into axis `number`'s values; see `Axis.view`."""
        self._simulation.cache.settle()
        row = slice(number, number + 1)
        if what == 'dq':
            return None
        return self._values.q[row] if what == 'q' else self.states('motor')[row]

    def _check_coordinates(self) -> None:
        if self.type == 'ball':
            raise StateError(
                f'{self.place} is a ball joint that closes a loop or is compliant: it has no '
                'coordinates. An angular motor beside it measures angles (World.add_angular_motor)'
            )

    # --- geometry and reaction -------------------------------------------------------------------

    def is_linear(self, number: int) -> bool:
        """Return whether axis `number` is linear; otherwise it is revolute."""
        return bool(self.free.linear[number])

    def direction(self, number: int) -> np.ndarray:
        """Return the unit vector (3,) along or about which axis `number` moves; world axes."""
        return self.free.directions()[number]

    def error(self, of_rigid_rows: bool = False) -> tuple[float, float]:
        """
        Return the largest position error [m] and angular error's sine over the rows.

        For rigid rows beyond a right angle, where the sine decreases, 2 minus the sine.
        """
        (R_A, p_A), (R_B, p_B) = self.frames.first.pose, self.frames.second.pose
        worst = [0.0, 0.0]
        _, cfm = self._of_rows()
        for row, ((kind, i, j), reference) in enumerate(
            zip(self._rows, self.references, strict=True)
        ):
            if of_rigid_rows and cfm[row] > 0.0:
                continue
            if kind == engine.SLIDE:
                value = R_A[:, i] @ (p_B - p_A)
            elif kind == engine.DOT:
                value = R_A[:, i] @ R_B[:, j]
                if i != j and cfm[row] == 0.0 and R_A[:, j] @ R_B[:, j] < 0.0:
                    value = 2.0 - abs(value)
            else:
                value = np.linalg.norm(p_B - p_A)
            which = kind == engine.DOT
            worst[which] = max(worst[which], abs(float(value - reference)))
        return worst[0], worst[1]

    def reaction(self) -> tuple[np.ndarray, np.ndarray]:
        """Return force [N] and torque [N m] on the second link; see `AnyJoint.reaction`."""
        self._simulation.observation.sites()
        return self._simulation.observation.constraint_wrench(self)

    @property
    def _robots(self) -> tuple[RobotSlot, ...]:
        """Robots of both links."""
        links = (self.frames.first.link, self.frames.second.link)
        return tuple(link.slot.robot for link in links if link is not None)

    # --- compliance ------------------------------------------------------------------------------

    @property
    def softness(self) -> Softness:
        """ERP [1] and CFM [m/(N s), rad/(N m s)]: one number for all rows, or one per row."""
        return self._softness

    @softness.setter
    def softness(self, value: Softness) -> None:
        with Change(self._simulation.staleness, self):
            self._softness = value
            self._simulation.registry.reconnect_joints()

    @property
    def row_count(self) -> int:
        """Constraint row count."""
        return len(self._rows)

    @property
    def compliance(self) -> Compliance:
        """Springs and dampers equivalent to the rows; 0 in free directions."""
        springs, dampers = np.zeros(6), np.zeros(6)
        h = self._simulation.run.time_step
        for row, scale, erp, cfm in zip(
            self._rows, self._leverages(), *self._of_rows(), strict=True
        ):
            way = engine.direction_of(row)
            springs[way] = scale * erp / (h * cfm) if cfm > 0.0 else np.inf
            dampers[way] = scale * (1.0 - erp) / cfm if cfm > 0.0 else 0.0
        return Compliance(tuple(springs.tolist()), tuple(dampers.tolist()))

    @compliance.setter
    def compliance(self, value: Compliance) -> None:
        self.softness = self._softness_of(value)

    def _softness_of(self, compliance: Compliance) -> Softness:
        """
        Return ERP and CFM of each row for springs and dampers, as in ODE's manual, 3.8.2.

        Raises InvalidValueError if a constrained direction has neither spring nor damper.
        """
        h, erps, cfms = self._simulation.run.time_step, [], []
        for row, scale in zip(self._rows, self._leverages(), strict=True):
            way = engine.direction_of(row)
            pull = h * compliance.stiffness[way] / scale
            total = pull + compliance.damping[way] / scale
            if total == 0.0:
                raise InvalidValueError(
                    'compliance',
                    tuple(compliance),
                    'a spring or a damper '
                    f'{_DIRECTIONS[way]}: a {self.type} joint constrains this direction',
                    self.place,
                )
            erps.append(pull / total if pull < np.inf else _ERP)
            cfms.append(1.0 / total)
        return tuple(erps), tuple(cfms)

    def _leverages(self) -> list[float]:
        """Return, for each row, the squared row velocity per unit velocity in its direction."""
        # for crossed axes not at right angles, the cosine changes by less than the angle
        return [
            1.0 - reference * reference if kind == engine.DOT else 1.0
            for (kind, _, _), reference in zip(self._rows, self.references, strict=True)
        ]

    def _of_rows(self) -> list[list[float]]:
        """Return ERP and CFM of each row, without the suspension."""
        return [np.broadcast_to(values, len(self._rows)).tolist() for values in self._softness]

    @property
    def references(self) -> list[float]:
        """Each row's value at zero error [m, 1]."""
        return [
            float(self._distance[0]) if kind == engine.DISTANCE else reference
            for (kind, _, _), reference in zip(self._rows, self._references, strict=True)
        ]

    @property
    def distance(self) -> float:
        """Distance kept by a distance joint [m]; 0 for other joints."""
        self._simulation.cache.settle()
        return float(self._distance[0])

    @distance.setter
    def distance(self, value: float) -> None:
        self._simulation.cache.settle()
        write_view = self._simulation.staleness.write_view
        write_view(Loops, 'reference', self._distance, 0, value, self._robots)

    # --- breaking --------------------------------------------------------------------------------

    @property
    def toughness(self) -> np.ndarray:
        """(8,) break limits as in the engine's Loops; a view."""
        self._simulation.cache.settle()
        return self._toughness

    def set_toughness(self, index: int | slice, value: np.ndarray) -> None:
        """Set `toughness` columns."""
        self._simulation.cache.settle()
        write_view = self._simulation.staleness.write_view
        write_view(Loops, 'toughness', self._toughness, index, value)

    @property
    def broken(self) -> int:
        """Bits for broken parts, as in the engine's State."""
        self._simulation.cache.settle()
        return int(self._broken[0])

    @property
    def is_broken(self) -> bool:
        """Whether the joint has no effect any more."""
        return bool(self.broken & engine.GONE)

    @is_broken.setter
    def is_broken(self, value: bool) -> None:
        self._simulation.cache.settle()
        write_view, bits = self._simulation.staleness.write_view, engine.GONE if value else 0
        write_view(State, 'loop_broken', self._broken, 0, bits, self._robots)

    # --- for the simulation ----------------------------------------------------------------------

    def begin_turned(self, axis: int, angle: float) -> None:
        """Continue the turns of an axis from an angle [rad], also after `restart`."""
        turns = np.round((angle - self.start[axis]) / (2.0 * np.pi))
        self.start[axis] += turns * 2.0 * np.pi
        self._simulation.cache.settle()
        self._simulation.write(self._values, 'q', axis, self.start[axis])

    def restart(self) -> None:
        """Reset the positions and motor targets to the initial positions."""
        write, values, all_rows = self._simulation.write, self._values, slice(None)
        driven, targets = values.control != BY_EFFORT, np.zeros((self.axis_count, 2))
        targets[driven, 0] = self.start[driven]
        write(values, 'q', all_rows, self.start)
        write(values, 'target', all_rows, targets)
        write(values, 'course', all_rows, 0.0)

    def record(self) -> LoopJoint:
        """Return the joint's engine record, with current body numbers."""
        bodies, numbers = [], []
        for link, rotation, position in (self.frames.first, self.frames.second):
            body = engine.WORLD
            if link is not None:
                body, place = link.slot.body, link.slot.placement.placement_of(rotation, position)
                rotation, position = place.rotation, place.position
            bodies.append(body)
            numbers += [*rotation.ravel(), *position]
        erp, cfm = self._of_rows()
        if self._suspension is not None:
            # ERP and CFM for a spring and a damper, as in ODE's manual, 3.8.2
            h = self._simulation.run.time_step
            stiffness, damping = self._suspension.stiffness, self._suspension.damping
            row = self._rows.index((engine.SLIDE, engine.Z, engine.Z))
            cfm[row] = 1.0 / (h * stiffness + damping)
            erp[row] = h * stiffness * cfm[row]
        return LoopJoint(
            self._rows,
            (bodies[0], bodies[1]),
            np.array(numbers),
            self.references,
            erp,
            cfm,
            self.free.pairs,
            self.free.kinds.axis_vector,
            self._values,
            self._toughness,
        )

    def bind(self, loops: Loops, state: State, number: int, first: int) -> None:
        """Move the values to joined arrays: joint row `number`, axis rows from `first` on."""
        self._loops, self._row = loops, number
        self._toughness = loops.toughness[number]
        kept = np.flatnonzero((loops.joint == number) & (loops.kind == engine.DISTANCE))
        if len(kept):
            place = loops.reference[kept[0] : kept[0] + 1]
            place[:] = self._distance
            self._distance = place
        state.loop_broken[number] = self._broken[0]
        self._broken = state.loop_broken[number : number + 1]
        self.first_axis = first
        rows = slice(first, first + self.axis_count)
        places = AxisValues(
            *(getattr(loops, field)[rows] for field in ('passive', 'limits', 'motor', 'stop')),
            *(getattr(state, f'axis_{field}')[rows] for field in AxisValues._fields[4:]),
        )
        for place, values in zip(places, self._values, strict=True):
            place[...] = values
        self._values = places


def _reference_of(row: tuple[int, int, int], spec: JointSpec) -> float:
    """Return a row's value at zero error."""
    kind, i, j = row
    if kind == engine.DISTANCE:
        return spec.distance
    # cosine between the axes of a universal joint or a hinge-2
    if kind == engine.DOT and i == j and spec.axis2 is not None:
        return float(spec.axis2[engine.Z])
    return 0.0


def _values(count: int) -> AxisValues:
    """Return values for axes without efforts, motors, stops, springs or friction."""
    return AxisValues(
        *free_axes(count),
        q=np.zeros(count),
        u=np.zeros(count),
        control=np.zeros(count, np.int64),
        target=np.zeros((count, 2)),
        course=np.zeros((count, COURSE_SIZE)),
        mode=np.zeros(count, np.int64),
        effort=np.zeros((count, 4)),
        load=np.zeros(count),
    )
