"""Standard services about entities: names, states and bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.foundation.validation import finite_vector
from sim_bridge.ros.process.deferred import Answer, Handler
from sim_bridge.ros.services.bounds import box_around, why_boundless
from sim_bridge.ros.services.entities import Entities, EntityNote
from sim_bridge.ros.services.standard.interfaces import (
    agree,
    fill_bounds,
    Interfaces,
    OPERATION_FAILED,
    passes_tags,
    say,
)
from sim_bridge.ros.services.standard.name_filter import NameFilter
from sim_bridge.ros.session.simulator import Simulator
from sim_bridge.ros.wire.messages import pack_stamp, unpack_stamp, WORLD_FRAME

INVALID_POSE = 101

# categories for entities other than robots, by motion kind
_CATEGORIES = {
    'static': 'CATEGORY_STATIC_OBJECT',
    'kinematic': 'CATEGORY_DYNAMIC_OBJECT',
    'dynamic': 'CATEGORY_OBJECT',
}


_NO_ACCELERATION = 'the acceleration was not set: it follows from the forces in each step'


class EntityServices:
    """GetEntities, GetEntitiesStates, GetEntityState, SetEntityState and entity descriptions."""

    def __init__(self, interfaces: Interfaces, entities: Entities, simulator: Simulator) -> None:
        """Prepare."""
        self._msg, self._entities, self._simulator = interfaces.msg, entities, simulator

    def handlers(self) -> dict[str, Handler]:
        """Return the handlers by service type name."""
        return {
            'GetEntities': self._list,
            'GetEntitiesStates': self._list_states,
            'GetEntityState': self._get_state,
            'SetEntityState': self._set_state,
            'GetEntityInfo': self._get_info,
            'SetEntityInfo': self._set_info,
            'GetEntityBounds': self._get_bounds,
        }

    def _list(self, request: Any, response: Any, answer: Answer) -> None:
        response.entities = self._matching(request.filters)
        answer(agree(response))

    def _list_states(self, request: Any, response: Any, answer: Answer) -> None:
        response.entities = self._matching(request.filters)
        for name in response.entities:
            state = self._msg.EntityState()
            self._fill(state, self._entities.get(name))
            response.states.append(state)
        answer(agree(response))

    def _get_state(self, request: Any, response: Any, answer: Answer) -> None:
        self._fill(response.state, self._entities.get(request.entity))
        answer(agree(response))

    def _set_state(self, request: Any, response: Any, answer: Answer) -> None:
        robot, state = self._entities.get(request.entity), request.state
        frame = state.header.frame_id
        # before version 2.1, requests always set pose and twist
        sets_pose, sets_twist = (
            getattr(request, f'set_{part}', True) for part in ('pose', 'twist')
        )
        sets_acceleration = getattr(request, 'set_acceleration', False)
        try:
            pose = self._entities.pose_in_world(
                frame, _vector(state.pose.position), _quaternion(state.pose.orientation)
            )
        except InvalidValueError as err:
            if sets_pose:
                answer(say(response, INVALID_POSE, str(err)))
                return
        twist = self._twist_in_world(frame, state, pose[0] if sets_pose else robot.root_link.p)
        moves = robot.motion != 'static' and robot.blueprint.mount is None
        if sets_twist and not moves and np.any(twist):
            answer(
                say(
                    response,
                    OPERATION_FAILED,
                    f'twist = {np.concatenate(twist).tolist()} of {robot.name!r}: expected '
                    'zero for an entity that cannot move by itself',
                )
            )
            return
        if sets_acceleration and not moves and _has_acceleration(state):
            answer(
                say(
                    response,
                    OPERATION_FAILED,
                    f'acceleration of {robot.name!r}: expected zero for an entity that cannot '
                    'move by itself',
                )
            )
            return
        self._simulator.move(
            robot.name, pose if sets_pose else None, twist if sets_twist and moves else None
        )
        self._simulator.publish_state()
        answer(agree(response, _NO_ACCELERATION if sets_acceleration else ''))

    def _get_info(self, request: Any, response: Any, answer: Answer) -> None:
        robot = self._entities.get(request.entity)
        response.info.category.category = self._category(robot)
        note = self._entities.notes.get(robot.name)
        if note is not None:
            response.info.description, response.info.tags = note.description, list(note.tags)
            answer(agree(response))
            return
        parts = ', '.join(
            counted(len(each), thing)
            for each, thing in (
                (robot.links, 'link'),
                (robot.joint_names, 'joint'),
                (robot.devices(), 'sensor'),
            )
        )
        response.info.description = (
            f'{robot.motion}, {parts}, {robot.mass:g} kg, from {robot.description.source}'
        )
        answer(agree(response))

    def _set_info(self, request: Any, response: Any, answer: Answer) -> None:
        robot, info = self._entities.get(request.entity), request.info
        category, known = info.category.category, self._categories()
        if category not in known:
            raise InvalidValueError(
                'category', category, ', '.join(f'{n} ({name})' for n, name in known.items())
            )
        note = EntityNote(category, info.description, tuple(info.tags))
        self._entities.notes[robot.name] = note
        answer(agree(response))

    def _get_bounds(self, request: Any, response: Any, answer: Answer) -> None:
        robot = self._entities.get(request.entity)
        box = box_around(robot)
        fill_bounds(response.bounds, box)
        answer(agree(response, why_boundless(robot) if box is None else ''))

    # --- inside ----------------------------------------------------------------------------------

    def _matching(self, filters: Any) -> list[str]:
        """Return the names passing all filters; raises InvalidValueError for an invalid one."""
        # a filter with bounded time, since the physics thread waits meanwhile
        by_name = NameFilter(filters.filter)
        world, inside = self._entities.world, None
        if filters.bounds.type != filters.bounds.TYPE_EMPTY:
            shape, position = _shape_of(filters.bounds)
            inside = {g.link.robot.name for g in world.overlaps(shape, position)}
        categories = {each.category for each in filters.categories}
        return [
            name
            for name, robot in world.robots.items()
            if by_name.matches(name)
            and (not categories or self._category(robot) in categories)
            and passes_tags(filters.tags, self._tags(name))
            and (inside is None or name in inside)
        ]

    def _tags(self, name: str) -> tuple[str, ...]:
        note = self._entities.notes.get(name)
        return () if note is None else note.tags

    def _categories(self) -> dict[int, str]:
        """Return the category names in the installed version, by number."""
        kind, prefix = self._msg.EntityCategory, 'CATEGORY_'
        names = [name for name in dir(kind) if name.startswith(prefix)]
        return {getattr(kind, name): name.removeprefix(prefix).lower() for name in names}

    def _category(self, robot: sb.Robot) -> int:
        note = self._entities.notes.get(robot.name)
        if note is not None:
            return note.category
        is_robot = self._entities.is_robot(robot.name)
        name = 'CATEGORY_ROBOT' if is_robot else _CATEGORIES[robot.motion]
        return int(getattr(self._msg.EntityCategory, name))

    def _fill(self, state: Any, robot: sb.Robot) -> None:
        """Write an entity's root link pose and twist."""
        link = robot.root_link
        state.header.frame_id = WORLD_FRAME
        state.header.stamp = unpack_stamp(pack_stamp(self._simulator.time_ns))
        pose, twist, acceleration = state.pose, state.twist, state.acceleration
        for message, vector in (
            (pose.position, link.p),
            (twist.linear, link.v),
            (twist.angular, link.w),
            (acceleration.linear, link.dv),
            (acceleration.angular, link.dw),
        ):
            message.x, message.y, message.z = vector.tolist()
        q = pose.orientation
        q.x, q.y, q.z, q.w = quaternion_from_matrix(link.R).tolist()

    def _twist_in_world(
        self, frame: str, state: Any, position: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """
        Return linear and angular velocity in the world, from a twist in a frame.

        Raises InvalidValueError for non-finite values, before anything is moved.
        """
        v, w = (
            finite_vector(f'twist.{part}', _vector(getattr(state.twist, part)), 3, 'state')
            for part in ('linear', 'angular')
        )
        link = self._entities.frame(frame)
        if link is None:
            return v, w
        carried = link.v + np.cross(link.w, position - link.p)
        return carried + link.R @ v, link.w + link.R @ w


def _has_acceleration(state: Any) -> bool:
    parts = (state.acceleration.linear, state.acceleration.angular)
    return any(_vector(part).any() for part in parts)


def _shape_of(bounds: Any) -> tuple[sb.Shape, np.ndarray]:
    """Return shape and position for bounds; raises InvalidValueError for invalid bounds."""
    points = np.array([_vector(point) for point in bounds.points]).reshape(-1, 3)
    place = f'bounds of type {bounds.type}'
    if bounds.type == bounds.TYPE_SPHERE and len(points) == 2:
        return sb.Sphere(points[1, 0]), points[0]
    if bounds.type == bounds.TYPE_BOX and len(points) == 2:
        return sb.Box(np.abs(points[0] - points[1])), points.mean(axis=0)
    if bounds.type == bounds.TYPE_CONVEX_HULL and len(points) >= 4:
        return sb.ConvexHull(points), np.zeros(3)
    raise InvalidValueError(
        'points',
        points.tolist(),
        'two for a box (1) or a sphere (3), at least four for a convex hull (2)',
        place,
    )


def _vector(message: Any) -> np.ndarray:
    return np.array([message.x, message.y, message.z], dtype=float)


def _quaternion(message: Any) -> np.ndarray:
    return np.array([message.x, message.y, message.z, message.w], dtype=float)
