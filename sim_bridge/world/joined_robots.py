"""Robots and the arrays that hold them, joined when something needs them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, TYPE_CHECKING

import numpy as np

from sim_bridge.engine.collision.build import build_geometry
from sim_bridge.engine.data import geometry as collision
from sim_bridge.engine.data.loops import Loops, make_loops
from sim_bridge.engine.data.model import FREE, FREE_SINGLE, Model
from sim_bridge.engine.data.state import State
from sim_bridge.engine.data.surfaces import Surfaces
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.robots.geometry import Geometry, settings_in
from sim_bridge.robots.joints.constraint import ConstraintSeat
from sim_bridge.robots.link_medium import surround, Surroundings
from sim_bridge.robots.robot import Robot
from sim_bridge.shapes.materials import MaterialTable
from sim_bridge.simulation.assembly import (
    assemble,
    contact_room,
    copy_contacts,
    forget_contacts,
    gather_sites,
    Sites,
    with_contact_room,
)
from sim_bridge.simulation.groups import CollisionGroups
from sim_bridge.simulation.records import fits

if TYPE_CHECKING:
    from sim_bridge.robots.link import Link
    from sim_bridge.simulation.records import Snapshot

# room for contacts that a world of geometries starts with, and more for each of them
_LEAST_CONTACTS, _CONTACTS_EACH = 64, 4


class JoinedRobots:
    """
    Robots, and the arrays that hold them all.

    The arrays are joined when they are needed, once for all that was added until then; what
    contacts need is made for those only who step, or ask about contacts.
    """

    def __init__(self, gravity: np.ndarray):
        """Begin empty. gravity: (3,) [m/s²], used in place."""
        self._robots: dict[str, Robot] = {}
        self.robots: Mapping[str, Robot] = MappingProxyType(self._robots)
        self.materials = MaterialTable(self._forget_surfaces)
        self.groups = CollisionGroups(self.regroup)
        self._gravity = gravity
        self.constraints: Mapping[str, ConstraintSeat]
        self._constraints: dict[str, ConstraintSeat] = {}
        self.constraints = MappingProxyType(self._constraints)
        self._separated: dict[tuple[str, ...], tuple[Link, Link]] = {}
        self._next_number: dict[str, int] = {}
        self._admitted = 0
        self._was_joined = self._has_new_joints = False
        self._has_parts = self._has_geometry = self._has_surfaces = False
        self._has_surroundings = self._is_ready = False
        self._initial: tuple[State, np.ndarray] | None = None
        self._joints_stay = False
        self._model: Model
        self._state: State
        self._geometry: collision.Geometry
        self._surfaces: Surfaces
        self._sites: Sites
        self._loops: Loops

    def admit(self, robot: Robot) -> None:
        """Take a robot in; its name is free."""
        self._robots[robot.name] = robot
        self._admitted += 1
        robot.number = self._admitted
        self._forget_parts(joints_stay=True)

    def dismiss(self, robots: Iterable[Robot]) -> None:
        """Remove the robots that were taken in last, as if they had never been there."""
        for robot in robots:
            del self._robots[robot.name]
            for joint in robot.loop_joints.values():
                self._constraints.pop(joint.key or '', None)
        self._forget_parts()

    def expel(self, robot: Robot) -> None:
        """Take out a robot that no joint holds, with what it touched; the others stay."""
        self.settle()
        forget_contacts(self._state, robot, self.geometries, self.time_step)
        del self._robots[robot.name]
        robot.leave()
        self._forget_parts(joints_stay=True)

    def check_snapshot(self, snapshot: Snapshot, parameters: list[np.ndarray]) -> None:
        """Raise InvalidValueError for a snapshot of other robots, or of bases moved otherwise."""
        if snapshot.census != self.census():
            then = ', '.join(name for name, _ in snapshot.census) or 'none'
            now = ', '.join(self.robots) or 'none'
            raise InvalidValueError(
                'snapshot', f'of robots {then}',
                f'one taken since robots were last added or removed; there are now: {now}')
        if not fits(snapshot, self.structure(), parameters):
            raise InvalidValueError(
                'snapshot', f'of step {snapshot.step_count}',
                'one of this world as it is: the same robots, of the same `motion`, and the same '
                'joints')

    def census(self) -> tuple[tuple[str, int], ...]:
        """Return who is in the world: who was added later under a name of old is another."""
        return tuple((robot.name, robot.number) for robot in self.robots.values())

    # --- arrays ----------------------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """The constant arrays of all robots."""
        self.settle()
        return self._model

    @property
    def state(self) -> State:
        """The arrays that steps change; new ones whenever something was added."""
        self.settle()
        return self._state

    @property
    def geometry(self) -> collision.Geometry:
        """The arrays of all geometries; new ones whenever something was added or excluded."""
        self.settle_contact()
        return self._geometry

    @property
    def geometries(self) -> list[Geometry]:
        """Everything that collides, in the order of the engine's numbers."""
        return [geometry for robot in self.robots.values() for geometry in robot.geometries]

    def settle(self) -> None:
        """Bring the robots' arrays up to date with what was added."""
        if not self._has_parts:
            self._join()
            self._has_parts = True
            self._state.idle[:] = 0
            self.connect()
        elif not self._has_surroundings:
            self._take_surroundings()

    def settle_contact(self) -> None:
        """Bring all arrays up to date with what was added and changed."""
        self.settle()
        if self._has_geometry and self._has_surfaces:
            return
        if not self._has_geometry:
            self._build_geometry()
        if not self._has_surfaces:
            self._surfaces = self.materials.surfaces()
        self._has_geometry = self._has_surfaces = True
        self._state.idle[:] = 0
        self.connect_contact()

    @property
    def time_step(self) -> float:
        """Length of a step [s]; of `World`."""
        raise NotImplementedError

    def connect(self) -> None:
        """Hand the robots' arrays to the engine; `World` does."""
        raise NotImplementedError

    def connect_contact(self) -> None:
        """Hand all arrays to the engine; `World` does."""
        raise NotImplementedError

    def begin_joints(self) -> None:
        """Let velocities fit joints that are new; `World` does."""
        raise NotImplementedError

    def reconnect_joints(self) -> None:
        """Take account of constraint joints that were added, changed or removed."""
        self._forget_parts()
        self._has_new_joints = True

    def rejoin(self) -> None:
        """Take account of robots that were compiled anew."""
        self._forget_parts()

    def forget_surroundings(self) -> None:
        """Let what surrounds the links be looked at anew, once it is needed."""
        self._has_surroundings = self._is_ready = False

    def regroup(self) -> None:
        """Take account of changed collision groups."""
        if self._has_geometry:
            self._write_groups()
            self._state.idle[:] = 0

    def make_room(self, contacts: int) -> None:
        """Give the state room for so many contacts, if it has less; its other arrays stay."""
        self.settle_contact()
        if contacts > contact_room(self._state):
            self._state = with_contact_room(self._state, contacts)
            for robot in self.robots.values():
                robot.bind(robot.part._replace(state=self._state))
            self.connect()
            self.connect_contact()

    def present_settings(self) -> tuple[Any, ...]:
        """Return what users set beside the arrays: materials, filters, surroundings, joints."""
        return (self.materials.save(), self.present_filters(), self.present_surroundings(),
                self.present_joints())

    def restore_settings(self, saved: tuple[Any, ...]) -> None:
        """Go back to what `present_settings` gave."""
        materials, filters, surroundings, joints = saved
        self.materials.restore(materials)
        self.restore_filters(filters)
        self.restore_surroundings(surroundings)
        self.restore_joints(joints)

    def present_filters(self) -> tuple[Any, ...]:
        """Return who is kept from touching whom, by groups and by links."""
        members = [geometry.groups for geometry in self.geometries]
        return self.groups.save(), members, dict(self._separated)

    def restore_filters(self, saved: tuple[Any, ...]) -> None:
        """Go back to what `present_filters` gave."""
        groups, members, separated = saved
        self.groups.restore(groups)
        for geometry, names in zip(self.geometries, members, strict=True):
            if geometry.groups != names:
                geometry.groups = names
        if separated != self._separated:
            self._separated = dict(separated)
            self._forget_geometry()

    def present_surroundings(self) -> list[Surroundings]:
        """Return what surrounds each link."""
        return [link.surroundings for robot in self.robots.values() for link in robot.links]

    def restore_surroundings(self, saved: list[Surroundings]) -> None:
        """Go back to what `present_surroundings` gave."""
        links = [link for robot in self.robots.values() for link in robot.links]
        for link, surroundings in zip(links, saved, strict=True):
            link.surroundings = surroundings
        self.forget_surroundings()

    def structure(self) -> list[np.ndarray]:
        """
        List what robots, what moves them, and joints between them have made of the arrays.

        A snapshot fits a world where these are the same.
        """
        model, loops = self._model, self._loops
        # how a single body is integrated depends on what surrounds it
        kind = np.where(model.kind == FREE_SINGLE, FREE, model.kind)
        references = [np.array(joint.references) for joint in self._constraints.values()]
        return [model.parent, kind, model.inertia, loops.body, loops.frame, loops.axis_kind,
                loops.axis_vector, *references]

    def present_joints(self) -> tuple[Any, ...]:
        """Return joint compliances, and whether velocities have yet to fit new joints."""
        joints = self._constraints.values()
        return self._has_new_joints, [joint.compliance for joint in joints]

    def restore_joints(self, saved: tuple[Any, ...]) -> None:
        """Go back to what `present_joints` gave."""
        are_new, compliances = saved
        for joint, compliance in zip(self._constraints.values(), compliances, strict=True):
            if joint.compliance != compliance:
                joint.compliance = compliance
        self._has_new_joints, self._is_ready = are_new, False

    # --- inside ----------------------------------------------------------------------------------

    def _join(self) -> None:
        """Join the robots' arrays, carrying over what they hold."""
        robots = list(self.robots.values())
        geometries = len(self.geometries)
        room = _LEAST_CONTACTS + _CONTACTS_EACH * geometries if geometries > 1 else 0
        if self._was_joined:
            # geometries keep their numbers, and what touched goes on touching
            room = max(room, contact_room(self._state))
            before = self._state
        else:
            before = None
        joints = list(self._constraints.values())
        axes = sum(joint.axis_count for joint in joints)
        self._model, self._state, parts = assemble(
            robots, self._gravity, room, len(joints), axes)
        if before is not None:
            copy_contacts(before, self._state)
        if before is not None and self._joints_stay:
            self._state.loop_wrench[:] = before.loop_wrench
        else:
            # what joints that are no longer, or others now, did in the last step
            self._state.yield_wrench[:] = 0.0
        self._joints_stay = True
        first = 0
        for robot, part in zip(robots, parts, strict=True):
            robot.bind(part)
            robot.first_geometry = first
            first += len(robot.geometries)
        self._model = surround(self._model, robots)
        self._has_surroundings = True
        self._sites = gather_sites(robots)
        self._loops = make_loops([joint.record() for joint in joints], self._model)
        first = 0
        for joint in joints:
            joint.bind(self._loops, self._state, first)
            first += joint.axis_count
        self._was_joined = True

    def _take_surroundings(self) -> None:
        """Take account of what surrounds the links now; views of the state stay valid."""
        self._has_surroundings = True
        kinds = self._model.kind.copy()
        model = surround(self._model, self.robots.values())
        if model is self._model and np.array_equal(kinds, model.kind):
            return
        self._model = model
        self.connect()
        if self._has_geometry and self._has_surfaces:
            self.connect_contact()

    def _build_geometry(self) -> None:
        """Build the arrays of all geometries, carrying over what was set."""
        records = [geometry.record() for geometry in self.geometries]
        excluded = []
        for robot in self.robots.values():
            body = robot.part.at.body
            excluded += [(body + a, body + b) for a, b in robot.excluded]
        for pair in self._separated.values():
            a, b = (link.robot.part.at.body + link.placement.body for link in pair)
            if a != b:
                excluded.append((a, b))
        self._geometry = build_geometry(records, excluded)
        self._write_groups()
        for robot in self.robots.values():
            first = robot.first_geometry
            robot.known_geometry = settings_in(
                self._geometry, slice(first, first + len(robot.geometries)))

    def _write_groups(self) -> None:
        geometries = self.geometries
        bits = self.groups.bits(geometry.groups for geometry in geometries)
        for row, geometry in enumerate(geometries):
            self._geometry.group[row], self._geometry.mask[row] = bits[geometry.groups]

    def _forget_parts(self, joints_stay: bool = False) -> None:
        self._has_parts = self._has_geometry = self._is_ready = False
        self._initial = None
        self._joints_stay = self._joints_stay and joints_stay

    def _forget_surfaces(self) -> None:
        self._has_surfaces = self._is_ready = False

    def _forget_geometry(self) -> None:
        self._has_geometry = self._is_ready = False
