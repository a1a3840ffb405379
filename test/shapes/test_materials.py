"""Materials: combination, exceptions, and the engine's table."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.engine.data import contact_materials as law
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.shapes.material_table import combine, MaterialTable

STEEL = sb.Material(
    'steel',
    friction=0.5,
    restitution=0.6,
    rolling_friction=0.004,
    spinning_friction=0.01,
    slip=0.001,
    youngs_modulus=2e9,
    damping=0.05,
    adhesion=3.0,
    adhesive_overlap=1e-3,
    surface_layer=1e-4,
    max_correcting_velocity=2.0,
)
RUBBER = sb.Material(
    'rubber',
    friction=0.2,
    restitution=0.9,
    rolling_friction=0.001,
    spinning_friction=0.04,
    slip=0.003,
    youngs_modulus=1e6,
    damping=0.02,
    adhesion=1.0,
    adhesive_overlap=2e-3,
    surface_layer=2e-5,
    max_correcting_velocity=0.5,
)


def row(table: MaterialTable, a: str, b: str) -> np.ndarray:
    """Return the engine's law for two materials."""
    contact_materials = table.pair_laws()
    return contact_materials.law[contact_materials.pair[table.number(a), table.number(b)]]


def test_implicit_rules_are_agxs():
    """Combine two materials by the formulas of AGX's manual, section 11.16.1."""
    pair = combine(STEEL, RUBBER)
    # the manual's example: roughness 0.5 and 0.2
    assert pair.friction == pytest.approx(0.31623, abs=5e-6)
    viscosities = STEEL.viscosity, RUBBER.viscosity
    assert pair.restitution == pytest.approx(
        math.sqrt((1 - viscosities[0]) * (1 - viscosities[1])), rel=1e-15
    )
    assert pair.stiffness == pytest.approx(2e9 * 1e6 / (2e9 + 1e6), rel=1e-15)
    # AGX's damping is a time; the engine's is a damper parallel to the spring
    assert pair.damping == pytest.approx(0.05 * pair.stiffness, rel=1e-15)
    assert pair.adhesion == 4.0
    assert pair.slip == pair.slip2 == pytest.approx(0.004, rel=1e-15)
    assert pair.adhesive_overlap == 1e-3
    assert pair.surface_layer == 1e-4
    assert pair.max_correcting_velocity == 0.5
    assert pair.rolling_friction == pytest.approx(0.002, rel=1e-15)
    assert pair.spinning_friction == pytest.approx(0.02, rel=1e-15)


def test_rules_are_symmetric():
    """Combine two materials equally in either order."""
    assert combine(STEEL, RUBBER) == combine(RUBBER, STEEL)


def test_rigid_and_elastic_make_elastic():
    """Give an elastic and a rigid body the elastic stiffness, and two rigid bodies infinity."""
    rigid = sb.Material('stone')
    assert combine(rigid, RUBBER).stiffness == RUBBER.youngs_modulus
    assert math.isinf(combine(rigid, rigid).stiffness)
    table = MaterialTable()
    table.add(RUBBER)
    assert row(table, 'default', 'default')[law.STIFFNESS] == 0.0
    assert row(table, 'default', 'rubber')[law.STIFFNESS] == 1e6


def test_ice_stays_slippery_on_infinite_friction():
    """Give no friction between frictionless and infinitely rough materials, and no nan."""
    ice, glue = sb.Material('ice', friction=0.0), sb.Material('glue', friction=math.inf)
    assert combine(ice, glue).friction == 0.0
    assert combine(glue, glue).friction == math.inf


def test_default_material_is_there():
    """Have a rigid material 'default', with friction 1 and no restitution."""
    material = sb.World().materials['default']
    assert (material.friction, material.restitution) == (1.0, 0.0)
    assert math.isinf(material.youngs_modulus)


def test_agxs_words_are_understood():
    """Name friction roughness, and 1 - restitution viscosity."""
    assert STEEL.roughness == 0.5
    assert STEEL.viscosity == pytest.approx(0.4, rel=1e-15)


def test_explicit_pair_overrides_its_set_fields():
    """Take set fields from a contact material, and the others from the rules."""
    table = MaterialTable()
    table.set_contact_material(STEEL, RUBBER, sb.ContactMaterial(friction=0.77, cfm=1e-5))
    pair = table.contact_material('rubber', 'steel')
    assert (pair.friction, pair.friction2, pair.cfm) == (0.77, 0.77, 1e-5)
    assert pair.restitution == combine(STEEL, RUBBER).restitution
    assert table.contact_material('steel', 'steel').friction == 0.5
    table.set_contact_material('steel', 'rubber', None)
    assert table.contact_material('steel', 'rubber') == combine(STEEL, RUBBER)


def test_engine_gets_every_parameter():
    """Write each contact material value to its column, in both orders."""
    given = sb.ContactMaterial(
        friction=0.3,
        friction2=0.4,
        friction_model='constant',
        rolling_friction=0.01,
        spinning_friction=0.02,
        restitution=0.5,
        bounce_velocity=0.1,
        erp=0.6,
        cfm=1e-4,
        slip=1e-3,
        slip2=2e-3,
        motion=0.7,
        motion2=-0.8,
        motion_normal=0.9,
        surface_layer=1e-3,
        max_correcting_velocity=3.0,
        adhesion=5.0,
        stiffness=1e5,
        damping=40.0,
    )
    table = MaterialTable()
    table.set_contact_material(STEEL, RUBBER, given)
    expected = {
        law.MODEL: law.CONSTANT,
        law.MU: 0.3,
        law.MU2: 0.4,
        law.ROLLING: 0.01,
        law.SPINNING: 0.02,
        law.RESTITUTION: 0.5,
        law.BOUNCE_VELOCITY: 0.1,
        law.ERP: 0.6,
        law.CFM: 1e-4,
        law.SLIP: 1e-3,
        law.SLIP2: 2e-3,
        law.MOTION: 0.7,
        law.MOTION2: -0.8,
        law.MOTION_N: 0.9,
        law.LAYER: 1e-3,
        law.MAX_VELOCITY: 3.0,
        law.ADHESION: 5.0,
        law.STIFFNESS: 1e5,
        law.DAMPING: 40.0,
    }
    assert sorted(expected) == list(range(law.MATERIAL_LAW_SIZE))
    for a, b in (('steel', 'rubber'), ('rubber', 'steel')):
        values = row(table, a, b)
        assert {column: values[column] for column in expected} == expected


def test_odes_names_are_understood():
    """Accept ODE's surface parameters by name, with its friction pyramid."""
    made = sb.ContactMaterial.from_ode(
        mu=0.5,
        mu2=0.6,
        rho=0.1,
        rhoN=0.2,
        bounce=0.3,
        bounce_vel=0.4,
        soft_erp=0.5,
        soft_cfm=0.6,
        motion1=0.7,
        motion2=0.8,
        motionN=0.9,
        slip1=1.0,
        slip2=1.1,
    )
    assert made == sb.ContactMaterial(
        friction_model='pyramid',
        friction=0.5,
        friction2=0.6,
        rolling_friction=0.1,
        spinning_friction=0.2,
        restitution=0.3,
        bounce_velocity=0.4,
        erp=0.5,
        cfm=0.6,
        motion=0.7,
        motion2=0.8,
        motion_normal=0.9,
        slip=1.0,
        slip2=1.1,
    )
    with pytest.raises(UnknownNameError, match="'mu3'.*Did you mean 'mu"):
        sb.ContactMaterial.from_ode(mu3=0.5)


def test_a_name_means_one_material():
    """Reject a different material with a used name, except in `add`."""
    world = sb.World()
    body = world.add_body(sb.Sphere(1.0), material=STEEL)
    with pytest.raises(InvalidValueError, match='another name'):
        world.add_body(sb.Sphere(1.0), material=sb.Material('steel'))
    assert list(world.robots) == ['body']
    world.materials.add(sb.Material('steel', friction=0.1))
    assert body.geometries[0].material.friction == 0.1


def test_unknown_material_is_named():
    """Name the unknown material, and the closest known one."""
    world = sb.World()
    world.materials.add(RUBBER)
    with pytest.raises(UnknownNameError, match="'ruber'.*Did you mean 'rubber'"):
        world.add_body(sb.Sphere(1.0), material='ruber')
    assert not world.robots


def test_changed_materials_leave_views_valid():
    """Change a material while a user holds a robot's arrays; they stay valid."""
    world = sb.World()
    world.add_body(sb.Sphere(1.0), material=STEEL)
    state = world.state
    world.materials.add(sb.Material('steel', friction=0.9))
    assert world.state is state


def test_snapshot_holds_materials():
    """Restore a snapshot's materials."""
    world = sb.World()
    world.materials.add(STEEL)
    snapshot, before = world.save(), world.state_hash()
    world.materials.add(sb.Material('steel', friction=0.9))
    world.set_contact_material('steel', 'default', sb.ContactMaterial(friction=0.1))
    assert world.state_hash() != before
    world.restore(snapshot)
    assert world.materials['steel'] == STEEL
    assert world.state_hash() == before


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (lambda: sb.Material(''), 'name of the material'),
        (lambda: sb.Material('a', friction=-1), r"friction = -1 \(material 'a'\): expected a num"),
        (lambda: sb.Material('a', restitution=1.1), 'restitution = 1.1 .*at most 1'),
        (lambda: sb.Material('a', density=0.0), 'density = 0.0 .*above 0'),
        (lambda: sb.Material('a', slip=math.inf), 'slip = inf .*a finite number'),
        (lambda: sb.Material('a', youngs_modulus=0.0), 'youngs_modulus'),
        (lambda: sb.Material('a', friction='high'), 'friction'),
        (lambda: sb.Material('a', friction=(1, 2)), 'friction'),
        (lambda: sb.ContactMaterial(erp=1.5), 'erp'),
        (lambda: sb.ContactMaterial(motion=math.inf), 'motion'),
        (lambda: sb.ContactMaterial(friction_model='ball'), "'cone', 'pyramid', 'constant', "),
        (lambda: MaterialTable().add('steel'), 'a Material'),
        (lambda: MaterialTable().set_contact_material(STEEL, RUBBER, 0.5), 'a ContactMaterial'),
    ],
)
def test_wrong_values_are_refused(make, message):
    """Name a material's invalid field, its value and the accepted values."""
    with pytest.raises(InvalidValueError, match=message):
        make()
