"""Contact problem for the current state as matrices and vectors."""

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
    contact_materials.FIRST_CONSTANT: 'constant_and_pyramid',
    contact_materials.SECOND_CONSTANT: 'pyramid_and_constant',
}
_TOUCHING = 1e-6  # largest gap that counts as touching [m]


@dataclass(frozen=True, eq=False, repr=False)
class ContactProblem:
    """
    Problem for the velocities v⁺ after a step and the impulses of nc contacts, loops and laws.

        M (v⁺ - v_free) = J3ᵀ λ + J_turnᵀ τ + Kᵀ μ + Lᵀ ν,
        K v⁺ + joint_softness μ = joint_target,
        u = J3 v⁺ + softness (λ + adhesion) - target,   0 <= λ_z + adhesion ⟂ u_z >= 0,

    with contact impulses λ, angular contact impulses τ, impulses μ of closed loops and ν of joint
    laws. In addition, Coulomb's law of friction holds between λ and u along x and y, the laws of
    rolling and spinning friction hold for τ, and the bounds of joint_laws (jacobian L) hold for ν:
    stops, friction, motors and holds of joints. docs/contact_problem.md has the conventions.

    Coordinates are the generalized velocities that forces change: for each robot in the order of
    `sb.dynamics`, without those of kinematic bases, whose effect is in `target` and
    `joint_target`. Each contact has three rows: along x, y and z of `axes`; z is the normal.

    contacts: contacts of the problem. time_step: h [s]. coordinates: slice of each robot.
    M: (nv, nv) mass matrix. v: (nv,) current velocities. v_free: (nv,) velocities after the step
    without contacts and loops: v + h M⁻¹ (u + efforts - bias_forces). u: (nv,) applied efforts
    within their limits. efforts: (nv,) efforts of applied forces, joint springs and dampers, drag,
    force fields and the support of links without gravity [N, N m]. bias_forces: (nv,) C v + g.
    axes: (nc, 3, 3) columns x, y, z, world; x and y are the friction directions.
    J3: (3 nc, nv) Jacobian of the velocities of a relative to b at the contact points. gap: (nc,)
    [m]. target: (3 nc,) target velocities of the rows; along z the smallest one [m/s].
    softness: (3 nc,) velocity per impulse [1/kg]. adhesion: (nc,) largest pulling impulse of a
    contact [N s]. friction: (nc, 2) coefficients along x and y; constant ones are impulses [N s].
    friction_models: (nc) 'cone', 'pyramid', 'constant', or 'constant_and_pyramid' (along x and y)
    or its reverse. pushes: (nc,) False for sensors, and if
    forces move neither body.
    turning: (t,) indices of contacts with rolling or spinning friction. turning_friction: (t, 2)
    their rolling and spinning coefficients [m]. J_turn: (3 t, nv) Jacobian of the angular
    velocities of a relative to b about their axes. turning_target: (3 t,) [rad/s].
    joint_names: joint of each row of K. K: (m, nv) rows of loop joints and mimic joints.
    joint_target: (m,) [m/s, rad/s]. joint_softness: (m,) velocity per impulse.
    joint_laws: k rows of stops, friction, motors, holds and implicit springs and dampers of
    joints, see `JointLaws`. left_out: parts of a step outside the problem, in words.
    other_contacts: touching contacts of the same state, of pairs without a contact in the problem;
    a step would include them. world, snapshot: world of the problem, and its state.
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
        """(nc, nv) Jacobian along the normals; positive velocities separate the contacts."""
        return self.J3[2::3]

    @property
    def bias(self) -> np.ndarray:
        """(nc,) smallest velocities along the normals [m/s]: the z rows of `target`."""
        return self.target[2::3]

    @cached_property
    def factor(self) -> np.ndarray:
        """(nv, r) factor F with F Fᵀ = `response`."""
        if not len(self.K):
            return self._whitened.T
        return self._whitened.T @ self._free_directions[: len(self.v)]

    @cached_property
    def response(self) -> np.ndarray:
        """(nv, nv) velocities per generalized impulse with closed loops; M⁻¹ without loops."""
        return self.factor @ self.factor.T

    @cached_property
    def delassus(self) -> np.ndarray:
        """(nc, nc) Delassus matrix J response Jᵀ for normals [1/kg]."""
        return self.delassus3[2::3, 2::3]

    @cached_property
    def delassus3(self) -> np.ndarray:
        """(3 nc, 3 nc) Delassus matrix J3 response J3ᵀ [1/kg], without softness."""
        return gram_product(self.J3, self.factor)

    @cached_property
    def v_held(self) -> np.ndarray:
        """(nv,) velocities after the step without contacts, with closed loops."""
        return self.v_free + self._whitened.T @ self._loop_change[: len(self.v)]

    def velocity(
        self,
        impulses: np.ndarray,
        law_impulses: np.ndarray | None = None,
        turning_impulses: np.ndarray | None = None,
    ) -> np.ndarray:
        """
        Return (nv,) v⁺ for λ (nc, 3) along the contact axes, ν (k,) and τ (t, 3).

        Raises InvalidValueError for other array shapes.
        """
        push = self.factor.T @ self._generalized(impulses, law_impulses, turning_impulses)
        return self.v_held + self.factor @ push

    def joint_impulses(
        self,
        impulses: np.ndarray,
        law_impulses: np.ndarray | None = None,
        turning_impulses: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return (m,) μ for λ (nc, 3), ν (k,) and τ (t, 3); the smallest for dependent rows."""
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
        Return (n,) joint coordinates; J[:, problem.columns(robot)] is their part of J.

        The order is that of `joints`, or of `robot.joint_names` if None, for fixed, free and
        kinematic bases alike. Raises InvalidValueError for a robot without coordinates in the
        problem and for joints other than texts, and UnknownNameError unless each name is a
        one-axis joint on the robot.
        """
        if not isinstance(robot, Robot) or robot not in self.coordinates:
            raise InvalidValueError('robot', robot, 'a robot of the problem')
        first = self.coordinates[robot].start - (6 if robot.motion == 'kinematic' else 0)
        names = (
            robot.joint_names if joints is None else items_of('joints', joints, str, 'joint names')
        )
        for name in names:
            if name not in robot.joint_names:
                raise UnknownNameError('joint', name, robot.joint_names, f'robot {robot.name!r}')
        return np.array([first + robot.slot.blueprint.joint_v[name] for name in names], int)

    def null_space(self, tangential: bool = False) -> np.ndarray:
        """
        Return an orthonormal basis (nv, k) for velocities that keep all contacts and loops.

        They have no velocity along the normals (J N = 0) and in loops (K N = 0). tangential: also
        none along the surfaces (J3 N = 0).
        """
        rows = np.concatenate([self.J3 if tangential else self.J, self.K])
        return null_space(rows.T)

    @cached_property
    def _whitened(self) -> np.ndarray:
        """(nv, nv) C⁻¹ for M = C Cᵀ."""
        try:
            return inverse_factor(self.M)
        except np.linalg.LinAlgError:
            names = [
                robot.name
                for robot, place in self.coordinates.items()
                if np.linalg.eigvalsh(self.M[place, place]).min() <= 0.0
            ]
            raise StateError(
                f'the mass matrix of robot {", ".join(names)} is singular: a joint moves no mass'
            ) from None

    @cached_property
    def closed(self) -> ContactProblem:
        """
        The problem with its unbounded laws as joint rows after K's.

        Compliant rows are scaled to softness 1.
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
        """Scale for rows that `closed` adds to K: law impulse = scale times row impulse."""
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
        (nv + m, m) joint rows in unit mass coordinates.

        Each row has an additional coordinate for its softness; see `engine.data.contact_problem`.
        """
        return np.concatenate([self._whitened @ self.K.T, np.diag(np.sqrt(self.joint_softness))])

    @cached_property
    def _free_directions(self) -> np.ndarray:
        """(nv + m, r) orthonormal basis for motions allowed by the joint rows."""
        return null_space(self._joint_rows)

    @cached_property
    def _loop_change(self) -> np.ndarray:
        """(nv + m,) velocity change closing the loops, in unit mass coordinates."""
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
    """Build the problem for contacts in a world; see `World.contact_problem`."""
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
    """Return each robot's slice among the free coordinates."""
    before = np.concatenate([[0], np.cumsum(free)])
    found = {}
    for robot in world.robots.values():
        first = robot.slot.part.at.v
        start, stop = before[[first, first + velocity_count(robot.slot.blueprint.model)]].tolist()
        if stop > start:
            found[robot] = slice(start, stop)
    return found


def _coordinate_names(world: World, count: int) -> list[str]:
    """Return 'robot/joint' for each coordinate in a world; the robot's name for its base."""
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
    """Return the touching contacts of all geometry pairs that are missing in `contacts`."""
    found = world.find_contacts(margin=_TOUCHING)
    own, others = (
        np.sort(each.indices, axis=1) @ (len(world.geometries), 1) for each in (contacts, found)
    )
    is_sensor = np.array([geometry.sensor for geometry in world.geometries], bool)
    is_other: np.ndarray = ~np.isin(others, own) & ~is_sensor[found.indices].any(axis=1)
    return found[is_other]


def _without_prescribed(joints: JointRows, free: np.ndarray, v: np.ndarray) -> JointRows:
    """Return the rows for free coordinates; move the effect of prescribed ones to the target."""
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
