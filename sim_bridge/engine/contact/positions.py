"""
Keeping bodies apart where velocities alone do not.

A body that meets another within a step, or did so deeply in an earlier one, would end the step
inside it although its velocity no longer approaches. The second half of the step's drift is then
given just so much more velocity along the normals as takes it out: a problem like that of the
velocities, without friction, whose solution moves positions and leaves velocities alone (split
impulses; the position projection of Gear, Gupta and Leimkuhler 1985).
"""

from __future__ import annotations

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.contact.gauss_seidel import velocities
from sim_bridge.engine.contact.islands import affordable_sweeps
from sim_bridge.engine.contact.respond import add_push
from sim_bridge.engine.data.contact_problem import ISLANDS, NN
from sim_bridge.engine.data.surfaces import CFM, ERP, LAYER, MAX_VELOCITY, STIFFNESS
from sim_bridge.engine.math.vec3 import load3, scale


@subroutine
def find_missing(surface_law, gap, count, h, touching, laws, rows, solution):
    """
    Turn the bias along the normals into the velocities that are missing; tell whether any is.

    Whatever came together in this step is to part wholly, what was together before by the share
    ERP of its depth beyond the surface layer. Soft contacts are left to their springs.
    """
    missing = False
    for contact in range(count):
        if laws.rows[contact] == 0:
            continue
        law = surface_law[laws.law[contact]]
        impulse = solution.impulse[contact]
        u_n = velocities(rows.support, rows.linear, rows.first[contact], rows.first[contact + 1],
                         solution.bias[contact], laws.softness[contact], impulse, 0,
                         solution.z)[0]
        velocity = u_n - laws.softness[contact, 0] * impulse[0] + laws.wanted[contact]
        start = gap[contact] - 0.5 * h * laws.approach[contact]
        end = gap[contact] + 0.5 * h * velocity
        depth = -law[LAYER] - start
        wanted = min(start, 0.0)
        if depth > 0.0:
            wanted = start + min(law[ERP] * depth, h * law[MAX_VELOCITY])
        if law[CFM] > 0.0 or law[STIFFNESS] > 0.0:
            wanted = min(wanted, end)
        solution.shift[contact] = 0.0
        solution.bias[contact, 0] = (end - wanted) * (2.0 / h)
        missing = missing or end < wanted - touching
    return missing


@subroutine
def solve_positions(laws, islands, rows, solution, enough, sweeps):
    """
    Find the impulses that part the bodies, into solution.shift.

    By so many sweeps at most, for large islands fewer, or till one changes velocities by no more
    than `enough` [m/s].
    """
    for at in range(solution.z.shape[0]):
        solution.z[at] = 0.0
    for island in range(solution.effort[ISLANDS]):
        for _ in range(affordable_sweeps(islands, island, sweeps)):
            greatest = 0.0
            for place in range(islands.first[island], islands.first[island + 1]):
                contact = islands.order[place]
                greatest = max(greatest, update_shift(
                    rows.support, rows.linear, rows.first[contact], rows.first[contact + 1],
                    rows.block[contact, NN] - laws.softness[contact, 0],
                    solution.bias[contact, 0], contact, solution.shift, solution.z))
            if greatest < enough:
                break


@kernel
def update_shift(support, linear, first, end, a_nn, bias, contact, shift_inout, z_inout):
    """Solve one contact's position law; give the change in terms of velocity [m/s]."""
    if a_nn <= 0.0:
        return 0.0
    u = bias
    for entry in range(first, end):
        u += linear[0, entry] * z_inout[support[entry]]
    old = shift_inout[contact]
    change = max(old - u / a_nn, 0.0) - old
    if change == 0.0:
        return 0.0
    shift_inout[contact] = old + change
    for entry in range(first, end):
        z_inout[support[entry]] += change * linear[0, entry]
    return abs(change) * a_nn


@subroutine
def gather_shifts(geometry_body, pose, contacts, laws, shift, h, wrench_out, pushed_out):
    """Sum the position impulses as forces over the step."""
    wrench_out[:, :] = 0.0
    for contact in range(contacts.size[0]):
        if laws.rows[contact] > 0 and shift[contact] > 0.0:
            force = scale(shift[contact] / h, load3(laws.frame, contact, 0))
            add_push(geometry_body, pose, contacts.geometry, contacts.point, contact,
                     force, (0.0, 0.0, 0.0), wrench_out, pushed_out)
