"""The contact problem of the present state as matrices and vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sim_bridge.engine.data import contact_materials
from sim_bridge.engine.data.model import velocity_count
from sim_bridge.foundation.errors import InvalidValueError, StateError, UnknownNameError
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.validation import items_of, positive_number, real_array, truth
from sim_bridge.robots.owners import World
from sim_bridge.robots.robot import Robot
from sim_bridge.simulation.contact_terms import ContactTerms, JointRows
from sim_bridge.simulation.joint_law_rows import JointLaws
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.snapshots import Snapshot
from sim_bridge.world.contact_points import ContactPoint, ContactPoints
from sim_bridge.world.sparse import gram_product, inverse_factor, least_squares, null_space

FRICTION_MODELS = {
    contact_materials.CONE: 'cone',
    contact_materials.PYRAMID: 'pyramid',
    contact_materials.CONSTANT: 'constant',
}
_TOUCHING = 1e-6  # gap of contacts that count as touching [m]


@dataclass(frozen=True, eq=False, repr=False)
class ContactProblem:
    """
    The velocities v⁺ after a step, and impulses: λ of nc contacts, μ of closed loops, ν of laws.

        M (v⁺ - v_free) = J3ᵀ λ + J_turnᵀ τ + Kᵀ μ + Lᵀ ν,
        K v⁺ + joint_softness μ = joint_target,
        u = J3 v⁺ + softness (λ + adhesion) - target,   0 <= λ_z + adhesion ⟂ u_z >= 0,

    Coulomb's law of friction between λ and u along x and y, that of rolling and spinning friction
    with angular impulses τ, and the bounds of joint_laws, whose jacobian is L: stops, friction,
    motors and holds of joints. docs/contact_problem.md has the
    conventions. Coordinates are those that forces move: of each robot in the order of
    `sb.dynamics`; those of kinematic bases are not among them, what they contribute is in `target`
    and `joint_target`. Rows of contacts are three each: along x, y and z of `axes`, z the normal.

    contacts: that it is about. time_step: h [s]. coordinates: the slice of each robot.
    M: (nv, nv) mass matrix. v: (nv,) present velocities. v_free: (nv,) velocities after the step
    without contacts and loops: v + h M⁻¹ (u + efforts - bias_forces). u: (nv,) applied efforts
    within their limits. efforts: (nv,) those of pushes, of springs and dampers of joints, of drag,
    of fields of force and of the support of links without gravity [N, N m]. bias_forces: (nv,) C v
    + g.
    axes: (nc, 3, 3) columns x, y, z, world; x and y are the directions of friction.
    J3: (3 nc, nv) relative velocities of a to b at the contact's points. gap: (nc,) [m].
    target: (3 nc,) velocities that the rows are to have; along z the least one [m/s].
    softness: (3 nc,) velocity per impulse [1/kg]. adhesion: (nc,) impulse that a contact pulls
    with [N s]. friction: (nc, 2) coefficients along x and y; of 'constant', impulses [N s].
    friction_models: (nc) 'cone', 'pyramid' or 'constant'. pushes: (nc,) False where a sensor
    touches, or nothing that forces move.
    turning: (t,) numbers of contacts with rolling or spinning friction. turning_friction: (t, 2)
    their coefficients of rolling and of spinning [m]. J_turn: (3 t, nv) relative angular
    velocities of a to b about their axes. turning_target: (3 t,) [rad/s].
    joint_names: the joint of each row of K. K: (m, nv) rows of joints that close loops and of
    mimic joints. joint_target: (m,) [m/s, rad/s]. joint_softness: (m,) velocity per impulse.
    joint_laws: k rows of stops, friction, motors, holds and implicit springs and dampers of
    joints, see `JointLaws`. left_out: what a step does besides, in words. other_contacts: that
    touch in the same state, of pairs without a contact in the problem; they act in a step.
    world, snapshot: whose problem it is, and its state.
    """

    contacts: ContactPoints
    time_step: float
    coordinates: Mapping[Robot, slice]
    M: np.ndarray
    v: np.ndarray
    v_free: np.ndarray
    u: np.ndarray
    efforts: np.ndarray
    bias_forces: np.ndarray
    axes: np.ndarray
    J3: np.ndarray
    gap: np.ndarray
    target: np.ndarray
    softness: np.ndarray
    adhesion: np.ndarray
    friction: np.ndarray
    friction_models: list[str]
    pushes: np.ndarray
    turning: np.ndarray
    turning_friction: np.ndarray
    J_turn: np.ndarray
    turning_target: np.ndarray
    joint_names: list[str]
    K: np.ndarray
    joint_target: np.ndarray
    joint_softness: np.ndarray
    joint_laws: JointLaws
    left_out: list[str]
    other_contacts: ContactPoints
    world: World
    snapshot: Snapshot

    def __repr__(self) -> str:
        """Show the sizes."""
        return (
            f'<ContactProblem: {counted(len(self.gap), "contact")}, '
            f'{counted(len(self.v), "coordinate")}, '
            f'{counted(len(self.K), "joint row")}, '
            f'{counted(len(self.joint_laws.types), "joint law")}, h = {self.time_step:g} s>'
        )

    @property
    def J(self) -> np.ndarray:
        """(nc, nv) velocities along the normals, positive where contacts separate."""
        return self.J3[2::3]

    @property
    def bias(self) -> np.ndarray:
        """(nc,) least velocities along the normals [m/s]: `target` of z."""
        return self.target[2::3]

    @cached_property
    def factor(self) -> np.ndarray:
        """(nv, r) F: F Fᵀ = `response`."""
        if not len(self.K):
            return self._whitened.T
        return self._whitened.T @ self._free_directions[: len(self.v)]

    @cached_property
    def response(self) -> np.ndarray:
        """(nv, nv) velocities per generalized impulse while loops stay closed; M⁻¹ without."""
        return self.factor @ self.factor.T

    @cached_property
    def delassus(self) -> np.ndarray:
        """(nc, nc) J response Jᵀ, of the normals [1/kg]."""
        return self.delassus3[2::3, 2::3]

    @cached_property
    def delassus3(self) -> np.ndarray:
        """(3 nc, 3 nc) J3 response J3ᵀ [1/kg], without softness."""
        return gram_product(self.J3, self.factor)

    @cached_property
    def v_held(self) -> np.ndarray:
        """(nv,) velocities after the step without contacts while loops stay closed."""
        return self.v_free + self._whitened.T @ self._loop_change[: len(self.v)]

    def velocity(
        self,
        impulses: np.ndarray,
        law_impulses: np.ndarray | None = None,
        turning_impulses: np.ndarray | None = None,
    ) -> np.ndarray:
        """
        Return (nv,) v⁺ for λ (nc, 3) along the contacts' axes, ν (k,) and τ (t, 3).

        Raises InvalidValueError for arrays of other shapes.
        """
        push = self.factor.T @ self._generalized(impulses, law_impulses, turning_impulses)
        return self.v_held + self.factor @ push

    def joint_impulses(
        self,
        impulses: np.ndarray,
        law_impulses: np.ndarray | None = None,
        turning_impulses: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return (m,) μ for λ (nc, 3), ν (k,) and τ (t, 3): the least where rows depend."""
        if not len(self.K):
            return np.zeros(0)
        push = np.zeros(len(self._joint_rows))
        push[: len(self.v)] = self._whitened @ self._generalized(
            impulses, law_impulses, turning_impulses
        )
        free = self._free_directions
        needed = self._loop_change + free @ (free.T @ push) - push
        return least_squares(self._joint_rows, needed)

    def columns(self, robot: Robot, joints: Iterable[str] | None = None) -> np.ndarray:
        """
        Return (n,) the coordinates of joints: J[:, problem.columns(robot)] is their part of J.

        They are in the order of `joints`; of `robot.joint_names` if None. So it is whether the
        base is fixed, free or kinematic. Raises InvalidValueError for a robot without coordinates
        here and for what are no names, UnknownNameError for another joint than the robot's
        one-axis joints.
        """
        if not isinstance(robot, Robot) or robot not in self.coordinates:
            raise InvalidValueError('robot', robot, 'a robot of the problem')
        first = self.coordinates[robot].start - (6 if robot.motion == 'kinematic' else 0)
        names = (
            robot.joint_names
            if joints is None
            else items_of('joints', joints, str, 'names of joints')
        )
        for name in names:
            if name not in robot.joint_names:
                raise UnknownNameError('joint', name, robot.joint_names, f'robot {robot.name!r}')
        return np.array([first + robot.slot.blueprint.joint_v[name] for name in names], int)

    def null_space(self, tangential: bool = False) -> np.ndarray:
        """
        Return (nv, k) an orthonormal basis of the velocities that keep contacts and loops as is.

        They have no velocity along the normals (J N = 0) and in loops (K N = 0). tangential: nor
        along the surfaces (J3 N = 0).
        """
        rows = np.concatenate([self.J3 if tangential else self.J, self.K])
        return null_space(rows.T)

    @cached_property
    def _whitened(self) -> np.ndarray:
        """(nv, nv) C⁻¹, where M = C Cᵀ."""
        try:
            return inverse_factor(self.M)
        except np.linalg.LinAlgError:
            names = [
                robot.name
                for robot, place in self.coordinates.items()
                if np.linalg.eigvalsh(self.M[place, place]).min() <= 0.0
            ]
            raise StateError(
                f'the mass matrix of robot {", ".join(names)} is singular: a joint moves nothing '
                'that has mass'
            ) from None

    @cached_property
    def closed(self) -> ContactProblem:
        """
        The problem with its laws without bounds as joint rows that follow those of K.

        Those that yield are scaled to a softness of 1.
        """
        laws = self.joint_laws
        bounded = laws.is_bounded
        if bounded.all():
            return self
        own = laws.chosen(~bounded)
        scale = self.closed_scale
        problem = replace(
            self,
            joint_names=[*self.joint_names, *own.names],
            K=np.concatenate([self.K, scale[:, None] * own.jacobian]),
            joint_target=np.concatenate([self.joint_target, scale * own.target]),
            joint_softness=np.concatenate([self.joint_softness, scale**2 * own.softness]),
            joint_laws=laws.chosen(bounded),
        )
        problem.__dict__['_whitened'] = self._whitened
        return problem

    @property
    def closed_scale(self) -> np.ndarray:
        """Factors of the rows that `closed` adds to K: their impulses are this times those."""
        softness = self.joint_laws.softness[~self.joint_laws.is_bounded]
        return 1.0 / np.sqrt(np.where(softness > 0.0, softness, 1.0))

    def _generalized(
        self,
        impulses: np.ndarray,
        law_impulses: np.ndarray | None,
        turning_impulses: np.ndarray | None,
    ) -> np.ndarray:
        """Return (nv,) J3ᵀ λ + Lᵀ ν + J_turnᵀ τ."""
        push = np.zeros(len(self.v))
        laws = self.joint_laws.jacobian
        for what, given, jacobian, shape in (
            ('impulses', impulses, self.J3, (len(self.gap), 3)),
            ('law_impulses', law_impulses, laws, (len(laws),)),
            ('turning_impulses', turning_impulses, self.J_turn, (len(self.turning), 3)),
        ):
            if given is not None:
                array = real_array(what, given, f'an array {shape}', '')
                if array.shape not in (shape, (len(jacobian),)):
                    raise InvalidValueError(f'shape of {what}', array.shape, str(shape))
                push += jacobian.T @ array.ravel()
        return push

    @cached_property
    def _joint_rows(self) -> np.ndarray:
        """
        (nv + m, m) the joints' rows in coordinates of unit mass.

        Each row has one of its own by which it yields; see `engine.data.contact_problem`.
        """
        return np.concatenate([self._whitened @ self.K.T, np.diag(np.sqrt(self.joint_softness))])

    @cached_property
    def _free_directions(self) -> np.ndarray:
        """(nv + m, r) orthonormal basis of what the joints' rows allow."""
        return null_space(self._joint_rows)

    @cached_property
    def _loop_change(self) -> np.ndarray:
        """(nv + m,) what closing the loops adds to v_free, in coordinates of unit mass."""
        if not len(self.K):
            return np.zeros(len(self.v))
        lacking = self.joint_target - self.K @ self.v_free
        return least_squares(self._joint_rows.T, lacking)


def contact_problem(
    world: World,
    simulation: Simulation,
    snapshot: Snapshot,
    contacts: Iterable[ContactPoint],
    time_step: float | None,
    bias: object,
    joint_laws: bool = True,
) -> ContactProblem:
    """Build the problem of contacts of a world; as `World.contact_problem`."""
    points = _checked_contacts(world, simulation, contacts)
    h = (
        simulation.run.time_step
        if time_step is None
        else positive_number('time_step', time_step, 'a positive number [s]')
    )
    terms = ContactTerms(
        simulation,
        points.indices,
        (points.points_a, points.points_b),
        points.normals,
        points.gaps,
        h,
    )
    free, v = terms.is_free, terms.velocity
    v_free = np.where(free, v + h * terms.acceleration, v)
    laws = terms.laws(v_free)
    axes = np.where(laws.is_pushing[:, None, None], laws.axes, points.axes)
    every_row, target = terms.contact_rows(axes), laws.targets
    rows = every_row if free.all() else every_row[:, free]
    if bias is not None:
        target[:, 2] = _checked_bias(bias, len(points))
    pushes = laws.is_pushing & rows.any(axis=1).reshape(-1, 3).any(axis=1)
    turning = np.flatnonzero(pushes & (laws.turning > 0.0).any(axis=1))
    turns = terms.contact_rows(axes, turning)
    joints = _without_prescribed(terms.joint_rows(), free, v)
    left_out, own = terms.left_out(), terms.joint_laws(_coordinate_names(world, len(free)))
    if truth('joint_laws', joint_laws):
        own = own._replace(jacobian=own.jacobian[:, free])
    else:
        left_out += [
            f'{kind} of joint {name!r}'
            for kind, name in dict.fromkeys(zip(own.types, own.names, strict=True))
        ]
        own = own.chosen(np.zeros(len(own.types), bool))._replace(
            jacobian=np.zeros((0, int(free.sum())))
        )
    return ContactProblem(
        contacts=points,
        time_step=h,
        coordinates=_coordinates(world, free),
        M=terms.mass if free.all() else terms.mass[np.ix_(free, free)],
        v=v[free],
        v_free=v_free[free],
        u=terms.applied[free],
        efforts=terms.effort[free],
        bias_forces=terms.bias[free],
        axes=axes,
        J3=rows,
        gap=points.gaps,
        target=target.ravel() - every_row[:, ~free] @ v[~free],
        softness=laws.softness.ravel(),
        adhesion=laws.pull,
        friction=laws.friction,
        friction_models=[FRICTION_MODELS[int(model)] for model in laws.model],
        pushes=pushes,
        turning=turning,
        turning_friction=laws.turning[turning],
        J_turn=turns[:, free],
        turning_target=-turns[:, ~free] @ v[~free],
        joint_names=joints.names,
        K=joints.jacobian,
        joint_target=joints.target,
        joint_softness=joints.softness,
        joint_laws=own,
        left_out=left_out,
        other_contacts=_other_contacts(world, points),
        world=world,
        snapshot=snapshot,
    )


def _coordinates(world: World, free: np.ndarray) -> dict[Robot, slice]:
    """Return the slice of each robot among the coordinates that forces move."""
    before = np.concatenate([[0], np.cumsum(free)])
    found = {}
    for robot in world.robots.values():
        first = robot.slot.part.at.v
        start, stop = before[[first, first + velocity_count(robot.slot.blueprint.model)]].tolist()
        if stop > start:
            found[robot] = slice(start, stop)
    return found


def _coordinate_names(world: World, count: int) -> list[str]:
    """Return 'robot/joint' of all coordinates of a world; the robot's name where none is its."""
    names = [''] * count
    for robot in world.robots.values():
        first, blueprint = robot.slot.part.at.v, robot.slot.blueprint
        size = velocity_count(blueprint.model)
        names[first : first + size] = [robot.name] * size
        starts = sorted((start, name) for name, start in blueprint.joint_v.items())
        for (start, name), (stop, _) in zip(starts, [*starts, (size, '')][1:], strict=True):
            names[first + start : first + stop] = [f'{robot.name}/{name}'] * (stop - start)
    return names


def _other_contacts(world: World, contacts: ContactPoints) -> ContactPoints:
    """Return contacts of a world that touch, of other pairs than those of some contacts."""
    found = world.find_contacts(margin=_TOUCHING)
    own, others = (
        np.sort(each.indices, axis=1) @ (len(world.geometries), 1) for each in (contacts, found)
    )
    is_sensor = np.array([geometry.sensor for geometry in world.geometries], bool)
    is_other: np.ndarray = ~np.isin(others, own) & ~is_sensor[found.indices].any(axis=1)
    return found[is_other]


def _without_prescribed(joints: JointRows, free: np.ndarray, v: np.ndarray) -> JointRows:
    """Return rows of the coordinates that forces move; what the others do goes to the target."""
    rows = joints.jacobian
    return joints._replace(
        jacobian=rows[:, free], target=joints.target - rows[:, ~free] @ v[~free]
    )


def _checked_contacts(
    world: World, simulation: Simulation, contacts: Iterable[ContactPoint]
) -> ContactPoints:
    expected = 'contacts of this world, as find_contacts returns them'
    geometries = world.geometries
    if isinstance(contacts, ContactPoints) and contacts.are_among(geometries):
        return contacts
    points = items_of('contacts', contacts, ContactPoint, expected)
    for point in points:
        for robot in (point.robot_a, point.robot_b):
            if not isinstance(robot, Robot) or robot.simulation is not simulation:
                raise InvalidValueError('contacts', point, expected)
    return ContactPoints.of(points, geometries)


def _checked_bias(bias: object, count: int) -> np.ndarray:
    expected = f'a finite number, or {count} of them, one for each contact [m/s]'
    array = real_array('bias', bias, expected, '')
    if array.shape not in ((), (count,)) or not np.isfinite(array).all():
        raise InvalidValueError('bias', bias, expected)
    return np.broadcast_to(array, (count,))
