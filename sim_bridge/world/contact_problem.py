"""The contact problem of the present state as matrices and vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sim_bridge.engine.data import surfaces
from sim_bridge.engine.data.model import velocity_count
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.validation import items_of, positive_number, real_array
from sim_bridge.robots.owners import World
from sim_bridge.robots.robot import Robot
from sim_bridge.simulation.contact_terms import ContactTerms, JointRows
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.snapshots import Snapshot
from sim_bridge.world.contact_points import ContactPoint, ContactPoints

FRICTION_MODELS = {surfaces.CONE: 'cone', surfaces.PYRAMID: 'pyramid',
                   surfaces.CONSTANT: 'constant'}
_DEPENDENT = 1e-10  # share of a unit row that is rounding where rows depend on others


@dataclass(frozen=True, eq=False, repr=False)
class ContactProblem:
    """
    The velocities v⁺ after a step, and the impulses λ of nc contacts and μ of closed loops.

        M (v⁺ - v_free) = J3ᵀ λ + Kᵀ μ,     K v⁺ + joint_softness μ = joint_target,
        u = J3 v⁺ + softness (λ + adhesion) - target,   0 <= λ_z + adhesion ⟂ u_z >= 0,

    and Coulomb's law of friction between λ and u along x and y. docs/contact_problem.md has the
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
    joint_names: the joint of each row of K. K: (m, nv) rows of joints that close loops and of
    mimic joints. joint_target: (m,) [m/s, rad/s]. joint_softness: (m,) velocity per impulse.
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
    joint_names: list[str]
    K: np.ndarray
    joint_target: np.ndarray
    joint_softness: np.ndarray
    world: World
    snapshot: Snapshot

    def __repr__(self) -> str:
        """Show the sizes."""
        return (f'<ContactProblem: {counted(len(self.gap), "contact")}, '
                f'{counted(len(self.v), "coordinate")}, '
                f'{counted(len(self.K), "joint row")}, h = {self.time_step:g} s>')

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
        rows = self.J3 @ self.factor
        return rows @ rows.T

    @cached_property
    def v_held(self) -> np.ndarray:
        """(nv,) velocities after the step without contacts while loops stay closed."""
        return self.v_free + self._whitened.T @ self._loop_change[: len(self.v)]

    def velocity(self, impulses: np.ndarray) -> np.ndarray:
        """Return (nv,) v⁺ for impulses (nc, 3) of the contacts along their axes."""
        push = self.factor.T @ (self.J3.T @ np.ravel(impulses))
        return self.v_held + self.factor @ push

    def joint_impulses(self, impulses: np.ndarray) -> np.ndarray:
        """Return (m,) μ for impulses (nc, 3) of the contacts: the least where rows depend."""
        if not len(self.K):
            return np.zeros(0)
        push = np.zeros(len(self._joint_rows))
        push[: len(self.v)] = self._whitened @ (self.J3.T @ np.ravel(impulses))
        free = self._free_directions
        needed = self._loop_change + free @ (free.T @ push) - push
        return _least_squares(self._joint_rows, needed)

    def null_space(self, tangential: bool = False) -> np.ndarray:
        """
        Return (nv, k) an orthonormal basis of the velocities that keep contacts and loops as is.

        They have no velocity along the normals (J N = 0) and in loops (K N = 0). tangential: nor
        along the surfaces (J3 N = 0).
        """
        rows = np.concatenate([self.J3 if tangential else self.J, self.K])
        return _null_space(rows.T)

    @cached_property
    def _whitened(self) -> np.ndarray:
        """(nv, nv) L⁻¹, where M = L Lᵀ."""
        try:
            return np.linalg.solve(np.linalg.cholesky(self.M), np.eye(len(self.v)))
        except np.linalg.LinAlgError:
            names = [robot.name for robot, place in self.coordinates.items()
                     if np.linalg.eigvalsh(self.M[place, place]).min() <= 0.0]
            raise StateError(
                f'the mass matrix of robot {", ".join(names)} is singular: a joint moves nothing '
                'that has mass') from None

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
        return _null_space(self._joint_rows)

    @cached_property
    def _loop_change(self) -> np.ndarray:
        """(nv + m,) what closing the loops adds to v_free, in coordinates of unit mass."""
        if not len(self.K):
            return np.zeros(len(self.v))
        lacking = self.joint_target - self.K @ self.v_free
        return np.linalg.lstsq(self._joint_rows.T, lacking, rcond=_DEPENDENT)[0]


def contact_problem(
    world: World, simulation: Simulation, snapshot: Snapshot,
    contacts: Iterable[ContactPoint], time_step: float | None, bias: object,
) -> ContactProblem:
    """Build the problem of contacts of a world; as `World.contact_problem`."""
    points = _checked_contacts(world, simulation, contacts)
    h = simulation.time_step if time_step is None else positive_number(
        'time_step', time_step, 'a positive number [s]')
    terms = ContactTerms(
        simulation, points.indices, (points.points_a, points.points_b), points.normals,
        points.gaps, h)
    free, v = terms.is_free, terms.velocity
    v_free = np.where(free, v + h * terms.acceleration, v)
    laws = terms.laws(v_free)
    axes = np.where(laws.is_pushing[:, None, None], laws.axes, points.axes)
    rows, target = terms.contact_rows(axes), laws.targets
    if bias is not None:
        target[:, 2] = _checked_bias(bias, len(points))
    joints = _without_prescribed(terms.joint_rows(), free, v)
    return ContactProblem(
        contacts=points, time_step=h, coordinates=_coordinates(world, free),
        M=terms.mass[np.ix_(free, free)], v=v[free],
        v_free=v_free[free], u=terms.applied[free],
        efforts=terms.effort[free], bias_forces=terms.bias[free], axes=axes,
        J3=rows[:, free], gap=points.gaps, target=target.ravel() - rows[:, ~free] @ v[~free],
        softness=laws.softness.ravel(), adhesion=laws.pull, friction=laws.friction,
        friction_models=[FRICTION_MODELS[int(model)] for model in laws.model],
        pushes=laws.is_pushing & rows[:, free].any(axis=1).reshape(-1, 3).any(axis=1),
        joint_names=joints.names, K=joints.jacobian, joint_target=joints.target,
        joint_softness=joints.softness, world=world, snapshot=snapshot)


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


def _without_prescribed(joints: JointRows, free: np.ndarray, v: np.ndarray) -> JointRows:
    """Return rows of the coordinates that forces move; what the others do goes to the target."""
    rows = joints.jacobian
    return joints._replace(
        jacobian=rows[:, free], target=joints.target - rows[:, ~free] @ v[~free])


def _checked_contacts(
    world: World, simulation: Simulation, contacts: Iterable[ContactPoint]
) -> ContactPoints:
    expected = 'contacts of this world, as find_contacts returns them'
    points = items_of('contacts', contacts, ContactPoint, expected)
    for point in points:
        for robot in (point.robot_a, point.robot_b):
            if not isinstance(robot, Robot) or robot.simulation is not simulation:
                raise InvalidValueError('contacts', point, expected)
    geometries = world.geometries
    if isinstance(contacts, ContactPoints) and contacts.are_among(geometries):
        return contacts
    return ContactPoints.of(points, geometries)


def _checked_bias(bias: object, count: int) -> np.ndarray:
    expected = f'a finite number, or {count} of them, one for each contact [m/s]'
    array = real_array('bias', bias, expected, '')
    if array.shape not in ((), (count,)) or not np.isfinite(array).all():
        raise InvalidValueError('bias', bias, expected)
    return np.broadcast_to(array, (count,))


def _null_space(columns: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of what is orthogonal to columns of any size."""
    sizes = np.linalg.norm(columns, axis=0)
    present = columns[:, sizes > 0.0] / sizes[sizes > 0.0]
    if not present.shape[1]:
        return np.eye(len(columns))
    _, values, rows = np.linalg.svd(present.T)
    return rows[np.count_nonzero(values > _DEPENDENT * values.max()):].T


def _least_squares(columns: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(columns, right, rcond=_DEPENDENT)[0]
