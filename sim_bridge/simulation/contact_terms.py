"""The terms in a whole simulation's contact problem at its present state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.engine.constraints.current_rows import constraint_rows
from sim_bridge.engine.contact.current_terms import (
    current_dynamics,
    current_efforts,
    current_laws,
    current_response,
    force_rows,
)
from sim_bridge.engine.data.contact_materials import CONE, ContactMaterials
from sim_bridge.engine.data.contact_points import COUNT, make_contacts
from sim_bridge.engine.data.contact_problem import Bound, Laws, make_problem, NO_LAW, Row
from sim_bridge.engine.data.fields import Fields, START
from sim_bridge.engine.data.geometry import Geometry
from sim_bridge.engine.data.loops import JOINT_ROWS, Loops, LoopWork, make_loop_work, MIMIC
from sim_bridge.engine.data.model import (
    EFFORT,
    FREE,
    KINEMATIC,
    LOWER,
    LOWER_EFFORT,
    Model,
    Options,
    REFERENCE,
    UPPER,
    velocity_count,
    WELD,
)
from sim_bridge.engine.data.state import BY_EFFORT, State
from sim_bridge.engine.data.workspace import make_workspace, Workspace
from sim_bridge.engine.dynamics.current_joint_laws import current_joint_laws
from sim_bridge.engine.dynamics.mimic import mimic_row
from sim_bridge.simulation.handles import refining_stages, with_stages
from sim_bridge.simulation.joint_law_rows import joint_law_rows, JointLaws
from sim_bridge.simulation.simulation import Simulation


class JointRows(NamedTuple):
    """
    Rows for constraint joints and mimic joints: jacobian v⁺ + softness μ = target.

    names: joint names; jacobian: (m, nv); target: (m,) [m/s, rad/s]; softness: (m,) velocity per
    impulse, 0 for rigid rows; μ: their impulses.
    """

    names: list[str]
    jacobian: np.ndarray
    target: np.ndarray
    softness: np.ndarray


class ContactLaws(NamedTuple):
    """
    Laws for n contacts along x, y and z, the normal.

    is_pushing: (n,) False for sensor contacts. axes: (n, 3, 3) columns x, y, z. targets:
    (n, 3) wanted relative velocities, along z the least [m/s]. softness: (n, 3) [1/kg]. friction:
    (n, 2) coefficients, or impulses [N s] under CONSTANT. model: (n,) from
    `data.contact_materials`. pull: (n,) adhesion impulse [N s]. turning: (n, 2) rolling and
    spinning friction [m].
    """

    is_pushing: np.ndarray
    axes: np.ndarray
    targets: np.ndarray
    softness: np.ndarray
    friction: np.ndarray
    model: np.ndarray
    pull: np.ndarray
    turning: np.ndarray


class ContactTerms:
    """
    Mass matrix, velocities, rows and laws over all nv simulation coordinates.

    mass: (nv, nv). velocity, bias: (nv,) velocities and bias forces. applied, effort: (nv,)
    applied efforts within their limits; efforts from pushes, fields, springs and dampers.
    acceleration: (nv,) under all these forces. is_free: (nv,) False for prescribed coordinates.
    """

    def __init__(
        self,
        simulation: Simulation,
        indices: np.ndarray,
        points: tuple[np.ndarray, np.ndarray],
        normals: np.ndarray,
        gaps: np.ndarray,
        time_step: float,
    ):
        """
        Compute the terms independent of the free velocity.

        indices: (n, 2) geometries; points: (n, 3) on each geometry; normals: (n, 3) from the
        second to the first; gaps: (n,).
        """
        probe = simulation.cache.handles.probe
        self._model, self._loops = probe.part(Model), probe.part(Loops)
        self._state, self._names = probe.part(State), list(simulation.registry.constraints)
        self._points, self._bodies = points, probe.part(Geometry).body[indices]
        self.time_step = time_step
        count, nv = len(gaps), velocity_count(self._model)
        contacts = make_contacts(count)
        contacts.size[COUNT] = count
        # for moving surfaces, laws depend on the pair's order
        self._is_turned = indices[:, 0] > indices[:, 1]
        contacts.geometry[:], contacts.gap[:] = np.sort(indices, axis=1), gaps
        contacts.normal[:] = np.where(self._is_turned[:, None], -normals, normals)
        contacts.point[:] = 0.5 * (points[0] + points[1])
        self._calls, self._friction = simulation.calls, simulation.cache.friction_calls()
        options = probe.part(Options)._replace(
            time_step=time_step, custom=0 if self._friction is None else self._friction.address
        )
        self._handle = probe.replaced(
            with_stages(options, refining_stages(probe.part(ContactMaterials))),
            make_workspace(self._model, bool(len(self._loops.kind))),
            contacts,
            *make_problem(self._model, count, 0),
            make_loop_work(self._model, self._loops),
        )
        self.mass, unforced, self.effort = np.zeros((nv, nv)), np.zeros(nv), np.zeros(nv)
        current_dynamics(self._handle, self.mass, unforced)
        self.bias = -self.mass @ unforced
        probe.part(Fields).time[START] = simulation.run.step_count * simulation.run.time_step
        current_efforts(self._handle, self.effort)
        simulation.calls.raise_error()
        limits = self._model.limits
        self.applied = np.clip(self._state.u, limits[:, LOWER_EFFORT], limits[:, EFFORT])
        added = np.zeros(nv)
        current_response(self._handle, self.applied + self.effort, added)
        self.acceleration = unforced + added
        self.velocity = self._state.v.copy()
        self.is_free = np.ones(nv, bool)
        for at in self._model.v_index[self._model.kind == KINEMATIC]:
            self.is_free[at : at + 6] = False

    def laws(self, free_velocity: np.ndarray) -> ContactLaws:
        """Return the contact laws, for a velocity (nv,) without contacts."""
        if self._friction is not None:
            self._friction.bind(self._handle)
        current_laws(self._handle, free_velocity)
        self._calls.raise_error()
        laws = self._handle.part(Laws)
        z, x, second = laws.frame.reshape(-1, 3, 3).transpose(1, 0, 2)
        ratio = np.linalg.norm(second, axis=1)
        # a circle's, but for rounding; a nearly round ellipse counts as a circle
        ratio[np.abs(ratio - 1.0) < 1e-14] = 1.0
        # turned: z and y are opposite, and so are relative velocities
        sign = np.where(self._is_turned, -1.0, 1.0)[:, None]
        y = np.cross(z, x)
        stretch = np.divide(1.0, ratio, out=np.zeros_like(ratio), where=ratio > 0.0)
        is_cone = laws.model == CONE
        rows = [Row.TANGENT, Row.TANGENT2, Row.NORMAL]
        targets, softness = laws.target[:, rows], laws.softness[:, rows]
        targets[:, 0] *= sign[:, 0]
        targets[:, 1] *= stretch
        targets[:, 2] = laws.wanted
        softness[:, 1] *= stretch**2
        friction = laws.radius[:, [Bound.TANGENT, Bound.TANGENT2]]
        friction[:, 1] *= np.where(is_cone, ratio, 1.0)
        has_law = laws.law != NO_LAW
        return ContactLaws(
            has_law,
            np.stack([x, sign * y, sign * z], axis=2),
            np.where(has_law[:, None], targets, 0.0),
            softness,
            friction,
            laws.model.copy(),
            laws.pull.copy(),
            np.where(has_law[:, None], laws.radius[:, [Bound.ROLL, Bound.SPIN]], 0.0),
        )

    def contact_rows(self, axes: np.ndarray, turning: np.ndarray | None = None) -> np.ndarray:
        """
        Return (3 n, nv) rows for the first body's velocity relative to the second, along axes.

        axes: (n, 3, 3) columns x, y, z. turning: contact numbers (t,); then (3 t, nv) angular
        velocity rows about their axes.
        """
        which = np.arange(len(axes)) if turning is None else turning
        directions = np.ascontiguousarray(axes[which].transpose(0, 2, 1)).reshape(-1, 3)
        rows = np.zeros((len(directions), len(self.velocity)))
        for side, sign in enumerate((1.0, -1.0)):
            force_rows(
                self._handle,
                np.repeat(self._bodies[which, side], 3),
                np.repeat(self._points[side][which], 3, axis=0),
                sign * directions,
                int(turning is not None),
                rows,
            )
        return rows

    def joint_rows(self) -> JointRows:
        """Return the rows holding closed loops and mimic joints."""
        loops, h = self._loops, self.time_step
        count = int(loops.size[JOINT_ROWS])
        if not count:
            return self._mimic_rows()
        rows = np.zeros((count, len(self.velocity)))
        constraint_rows(self._handle, rows)
        error = self._handle.part(LoopWork).error[:count]
        yields = loops.cfm > 0.0
        is_mimic = loops.kind == MIMIC
        holds = is_mimic | (self._state.loop_broken[loops.joint] == 0)
        names = [
            'mimic' if mimic else self._names[joint]
            for joint, mimic in zip(loops.joint.tolist(), is_mimic, strict=True)
        ]
        return JointRows(
            [name for name, held in zip(names, holds, strict=True) if held],
            rows[holds],
            np.where(yields, -loops.erp / h * error, 0.0)[holds],
            (loops.cfm / h)[holds],
        )

    def joint_laws(self, names: list[str]) -> JointLaws:
        """Return the joint laws in trees; names: (nv) coordinate names. To be called last."""
        current_joint_laws(self._handle, self.applied)
        model, work = self._model, self._handle.part(Workspace)
        has_axis = np.zeros(len(names), bool)
        has_axis[model.v_index[(model.kind > WELD) & (model.kind < FREE)]] = True
        return joint_law_rows(
            work.law,
            work.mode,
            model.passive,
            self.velocity,
            self.time_step,
            [name if has else '' for name, has in zip(names, has_axis, strict=True)],
        )

    def left_out(self) -> list[str]:
        """Return a description listing the step forces missing in these terms."""
        said, loops, state = [], self._loops, self._state
        for axis, joint in enumerate(loops.axis_joint.tolist()):
            has_stops = np.isfinite(loops.limits[axis, [LOWER, UPPER]]).any()
            is_driven = state.axis_control[axis] != BY_EFFORT or state.axis_u[axis] != 0.0
            # without a spring its rest position has no effect
            acts = np.delete(loops.passive[axis], REFERENCE).any()
            if acts or has_stops or is_driven:
                said.append(f'what acts along joint {self._names[joint]!r}, which closes a loop')
        return list(dict.fromkeys(said))

    def _mimic_rows(self) -> JointRows:
        """Return the rows for mimic joints outside the loops."""
        count = len(self._model.mimic)
        rows = np.zeros((count, len(self.velocity)))
        for row in range(count):
            following, followed, ratio = mimic_row(self._model, row)
            rows[row, following] += 1.0
            rows[row, followed] -= ratio
        return JointRows(['mimic'] * count, rows, np.zeros(count), np.zeros(count))
