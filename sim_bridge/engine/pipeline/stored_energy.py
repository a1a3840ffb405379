"""
Energy stored in compliant elements: compliant contacts and constraint joints.

Both are springs in the step. With h the time step, a contact with ERP and CFM has the stiffness
ERP / (h CFM), and so has a joint row. Dampers, friction and slip dissipate their energy.
"""

from __future__ import annotations

from sim_bridge.compiler.argument_table import Table
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.constraints.rows import find_errors, is_gone
from sim_bridge.engine.contact.area import share_areas
from sim_bridge.engine.contact.body_pairs import bits_of
from sim_bridge.engine.contact.prepare import set_laws
from sim_bridge.engine.contact.reduce import reduce_points
from sim_bridge.engine.contact.refine import adhere
from sim_bridge.engine.data import contact_materials as material
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import Row
from sim_bridge.engine.data.loops import GONE, JOINT_ROWS, RIGID_ROWS
from sim_bridge.engine.dynamics.energy import stop_energy
from sim_bridge.engine.dynamics.kinematics import place


@entry
def contact_energy(table: Table):
    """
    Return the energy [J] in the handle's contacts, with the current state's gaps.

    Adhesive contacts count only their springs: adhesion ends at once.
    """
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    geometry, contact_materials = world.geometry(table), world.contact_materials(table)
    contacts, laws = world.contacts(table), world.laws(table)
    twist, h = world.response(table).twist, world.options(table).time_step
    place(model, state.q, ws)
    twist[:, :] = 0.0
    set_laws(model, ws, geometry, contact_materials, contacts, twist, h, laws)
    present = 0
    for contact in range(contacts.size[COUNT]):
        present |= bits_of(contact_materials, laws, contact)
    if present & material.REDUCED != 0:
        reduce_points(table)
    if present & material.ADHERES != 0:
        adhere(table)
    if present & material.SPREADS != 0:
        share_areas(table)
    total = 0.0
    for contact in range(contacts.size[COUNT]):
        if laws.rows[contact] > 0:
            total += spring_energy(
                contact_materials.law[laws.law[contact]],
                -laws.gap[contact],
                laws.softness[contact, Row.NORMAL],
                h,
            )
    return total


@kernel
def spring_energy(law, depth, softness, h):
    """
    Return a compliant contact's energy [J], for the force in `contact.solve.soft_velocity`.

    softness: velocity per impulse, as in the law except for the contact's share of an area.
    """
    if depth <= 0.0 or softness <= 0.0:
        return 0.0
    if law[material.STIFFNESS] > 0.0:
        damped = h * law[material.STIFFNESS] + law[material.DAMPING]
        return 0.5 * law[material.STIFFNESS] / damped / (h * softness) * depth * depth
    depth, rate = max(depth - law[material.LAYER], 0.0), law[material.ERP] / h
    if rate == 0.0:
        return 0.0
    # beyond this depth the force is constant
    linear = min(depth, law[material.MAX_VELOCITY] / rate)
    return rate / (h * softness) * linear * (depth - 0.5 * linear)


@entry
def loop_energy(table: Table):
    """Return the energy [J] in compliant rows and elastic stops; bodies must be placed."""
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    loops, work, h = world.loops(table), world.loop_work(table), world.options(table).time_step
    work.broken[:] = state.loop_broken
    find_errors(model, state.q, ws, loops, work.error)
    total = 0.0
    for row in range(loops.size[RIGID_ROWS], loops.size[JOINT_ROWS]):
        if not is_gone(loops, row, loops.joint[row], work):
            stiffness = loops.erp[row] / (h * loops.cfm[row])
            total += 0.5 * stiffness * work.error[row] * work.error[row]
    for axis in range(loops.axis_joint.shape[0]):
        if state.loop_broken[loops.axis_joint[axis]] & GONE == 0:
            total += stop_energy(loops.limits[axis], loops.stop[axis], state.axis_q[axis], h)
    return total
