"""Contacts take energy and give none, also between a light body and a much heavier one on it."""

import numpy as np
import pytest

import sim_bridge as sb

G, EDGE = 9.81, 0.2
GROUND_FRICTION, PUSH = 0.9, 0.925  # push relative to the weight of both cubes


def pushed_pair(mass, **settings):
    """Return a world where a 1 kg cube carries a heavier one on the ground, and both links."""
    world = sb.World(**settings)
    for name in ('ground', 'light', 'heavy'):
        world.materials.add(sb.Material(name))
    world.set_contact_material('ground', 'light', sb.ContactMaterial(friction=GROUND_FRICTION))
    world.set_contact_material('light', 'heavy', sb.ContactMaterial(friction=0.95))
    world.add_ground('ground')
    links = [
        world.add_body(
            sb.Box((EDGE, EDGE, EDGE)), mass=m, position=(0.0, 0.0, z), material=name
        ).root_link
        for m, z, name in ((1.0, 0.5 * EDGE, 'light'), (mass, 1.5 * EDGE, 'heavy'))
    ]
    return world, links


@pytest.mark.parametrize('time_step', [1e-3, 2.5e-4])
@pytest.mark.parametrize('solver', ['direct', 'iterative', 'split'])
@pytest.mark.parametrize('mass', [10.0, 1e3, 1e5])
def test_contacts_do_no_work_on_a_cube_under_a_heavy_one(mass, solver, time_step):
    """
    Push the light cube just past friction: no converged step adds energy beyond the push's work.

    The straight motion is unstable. Let H be the common mass centre's height. The push acts
    l = H - EDGE / 2 below this centre, so the load lies x = GROUND_FRICTION H - PUSH l ahead, and
    friction turns the pair. The load's sideways velocity s obeys

        ds/dt = GROUND_FRICTION G (PUSH l x m / I - 1) s / v

    with PUSH l x m / I > 2: s grows as a power of v. The light cube is turned out from under the
    heavy one. Then the push, thousands of times the light cube's weight, accelerates it; this
    energy is the push's own work.
    """
    world, (light, heavy) = pushed_pair(mass, solver=solver, time_step=time_step)
    weight, before, escaped = (1.0 + mass) * G, float(world.energy().total), False
    for step in range(round(0.4 / time_step)):
        force = min(4.0 * weight * step * time_step, PUSH * weight)
        light.add_force((force, 0.0, 0.0))
        start = light.p[0]
        world.step()
        now = float(world.energy().total)
        if world.report.converged:
            assert now - before - force * (light.p[0] - start) < 1e-6 * weight * EDGE
        before, escaped = now, light.p[0] - heavy.p[0] > 0.5 * EDGE
        if escaped:
            break
    assert escaped or np.abs(light.v - heavy.v).max() < 0.1
