"""Evaluation of OpenPLX scenes: scopes, overrides, types, references, files."""

from __future__ import annotations

import math
from pathlib import Path
import textwrap

import numpy as np
import pytest

from sim_bridge.description.openplx.evaluate import read_openplx
from sim_bridge.description.openplx.objects import Object
from sim_bridge.description.openplx.values import matrix, pose, quaternion, vector
from sim_bridge.description.report import Findings
from sim_bridge.foundation.errors import UnknownNameError

SCENES = Path(__file__).parent / 'scenes'


def read(text: str, model: str | None = None, **options) -> Object:
    """Evaluate a text without defects."""
    findings = Findings()
    root = read_openplx(textwrap.dedent(text), model, findings=findings, **options)
    assert not findings.report('scene').findings, findings.report('scene').to_text()
    return root


def value(expression: str, type_: str = 'Real', **options):
    """Return an expression's value."""
    return read(f'A:\n    x is {type_}: {expression}\n', **options)['x']


def test_the_last_model_is_the_scene_unless_another_is_chosen():
    """Choose a model by name, or take the last one."""
    text = 'A:\n    x is Int: 1\nB:\n    x is Int: 2\n'
    assert read(text)['x'] == 2
    assert read(text, 'A')['x'] == 1
    assert read(text).model.name == 'B'


def test_numbers_follow_the_usual_precedence():
    """Compute with all four operators, signs and brackets."""
    assert value('1 + 2 * 3 - 4 / 2') == 5.0
    assert value('-(1 + 2) * -2') == 6.0
    assert value('2 - 3 - 4') == -5.0
    assert value('8 / 4 / 2') == 1.0
    assert value('1E5 + .5 + 2.') == 100002.5
    assert value('1 / 2') == 0.5
    assert value('3.0', 'Int') == 3
    assert type(value('3', 'Real')) is float


def test_texts_truth_values_and_arrays():
    """Read every kind of literal."""
    assert value('"a # b"', 'String') == 'a # b'
    assert value('"""a\n"b"\n"""', 'String') == 'a\n"b"\n'
    assert value('true', 'Bool') is True
    assert value('[1,\n        2, # two\n        3,\n    ]', 'Real[]') == (1.0, 2.0, 3.0)
    assert value('[[1, 2, 3][1], 4][0]') == 2.0


def test_an_override_changes_the_members_that_depend_on_it():
    """Bind names late: an override changes everything that depends on it."""
    root = read("""
        Box:
            size is Real: 1
            half is Real: size / 2
        Rod:
            box is Box
            end is Real: box.half + offset
            offset is Real: 0
        Scene:
            rod is Rod:
                offset: 10
            rod.box.size: 4
        """)
    assert root['rod.end'] == 12.0


def test_expressions_see_the_members_of_the_outermost_model():
    """Resolve names in the enclosing model, not in the assigned member."""
    root = read("""
        Inner:
            x is Real: 1
            y is Real: x
            z is Real: x
        Outer:
            x is Real: 2
            inner is Inner:
                y: x
                deeper is Inner:
                    y: this.x * 10
        """)
    assert (root['inner.y'], root['inner.z'], root['inner.deeper.y']) == (2.0, 1.0, 20.0)


def test_the_value_of_a_whole_is_replaced_and_parts_count_on_top_of_it():
    """Replace defaults of parts by a later whole; keep parts given with it or after it."""
    root = read("""
        A:
            early is Math.Vec3:
                z: 9
            late is Math.Vec3: {1, 2, 3}
            both is Math.Vec3
            both.y: 7
            both: {1, 2, 3}
        B is A:
            early: {1, 2, 3}
            late.x: 5
        """)
    assert [*vector(root['early'])] == [1, 2, 3]
    assert [*vector(root['late'])] == [5, 2, 3]
    assert [*vector(root['both'])] == [1, 7, 3]


def test_a_narrowed_type_keeps_the_values_of_its_parts():
    """Narrow by `becomes`."""
    root = read("""
        Mate:
            gain is Real: 1
        Hinge is Mate:
            angle is Real: gain * 2
        Joint:
            mate is Mate:
                gain: 3
        HingeJoint is Joint:
            mate becomes Hinge
        """)
    assert root['mate.angle'] == 6.0
    assert root['mate'].is_a('Mate')


def test_traits_give_members_and_values():
    """Apply traits between the base and the model's own statements."""
    root = read("""
        trait Sized:
            size is Real: 2
        trait Heavy is Sized:
            mass: size * 10
        Body:
            mass is Real: 1
        Rod is Body with Heavy
        Scene:
            plain is Body
            rod is Rod
            other is Body with Heavy:
                size: 3
            third is Rod:
                mass: 4
        """)
    assert [root[f'{name}.mass'] for name in ('plain', 'rod', 'other', 'third')] == [1, 20, 30, 4]
    assert root['other'].is_a('Heavy') and root['other'].is_a('Sized')
    assert root['rod'].model.bases == ('Heavy', 'Sized', 'Body')


def test_a_trait_may_assign_members_declared_by_the_model():
    """Declare all members before any assignment; the model's own values take precedence."""
    root = read("""
        Part:
            length is Real
        trait Tuned:
            part.length: 2
            gain: 3
            bias: 4
        Machine with Tuned:
            part is Part
            gain is Real
            bias is Real: 5
        """)
    assert (root['part.length'], root['gain'], root['bias']) == (2.0, 3.0, 5.0)


def test_alternatives_are_narrowed_or_assigned():
    """Take a value of either type."""
    root = read("""
        Car:
            wheels is Int: 4
        Boat:
            sails is Int: 2
        A:
            boat is Boat
            narrowed is Car or Boat
            assigned is Car or Boat: boat
            number is Real or Math.Vec2: 3
        B is A:
            narrowed becomes Car
        """)
    assert root['narrowed.wheels'] == 4
    assert root['assigned'] is root['boat']
    assert root['number'] == 3


def test_references_are_the_objects_themselves():
    """Refer instead of copying; walk through owned objects only."""
    root = read("""
        Body:
            mass is Real: 1
            me is Body reference: this
        A:
            body is Body
            same is Body: body
            all is Body[]: [body, same]
            optional none is Body reference
        """)
    assert root['same'] is root['body'] and root['body.me'] is root['body']
    assert root['all'] == (root['body'], root['body'])
    assert root['none'] is None
    assert [found.path for found in root.walk()] == ['', 'body']
    assert root['body'].owner is root


def test_an_optional_member_is_made_if_parts_of_it_are_given():
    """Create an optional object on the first statement about it."""
    root = read("""
        Body:
            mass is Real: 1
        A:
            optional body is Body
        B is A:
            body.mass: 2
        """)
    assert root['body.mass'] == 2.0


def test_constants_are_one_object():
    """Share a constant model's object."""
    root = read("""
        const Steel:
            density is Real: 7850
        A:
            steel is Steel
            same is Steel
            density is Real: Steel.density * 2
        """)
    assert root['steel'] is root['same']
    assert root['density'] == 15700


def test_globals_are_seen_everywhere():
    """Read attributes in files and bundles."""
    assert (
        read("""
        g is Real: h * 2
        h is Real: 3
        A:
            x is Real: g
        """)['x']
        == 6.0
    )
    assert value('Math.PI') == math.pi
    assert value('[Math.INF, Math.NEG_INF]', 'Real[]') == (math.inf, -math.inf)


def test_a_deleted_member_is_gone():
    """Delete a member that would lack a value."""
    root = read("""
        A:
            x is Real
            y is Real: 1
        B is A:
            delete x
        """)
    assert [*root.members] == ['y']


def test_members_come_in_the_order_of_definition():
    """List base members first, then trait members, then its own."""
    root = read("""
        A:
            z is Real: 1
            a is Real: 2
        trait T:
            t is Real: 3
        B is A with T:
            b is Real: 4
            a: 5
        """)
    assert [*root.members.items()] == [('z', 1.0), ('a', 5.0), ('t', 3.0), ('b', 4.0)]


def test_chains_of_members_may_be_longer_than_the_stack():
    """Evaluate 3000 members, each depending on the next."""
    lines = ''.join(f'    x{i} is Real: x{i + 1} + 1\n' for i in range(3000))
    assert read(f'A:\n{lines}    x3000 is Real: 0\n')['x0'] == 3000.0


def test_words_of_the_language_are_names_where_a_name_is_meant():
    """Declare members named like words of the language."""
    root = read("""
        A:
            is is Real: 1
            with is Real: is + 1
            optional is Real: with + 1
            reference is Real: optional + 1
            del is Real: 4
        """)
    assert root['reference'] == 4.0


def test_some_files_indent_members_deeper_than_the_annotation():
    """Read the indentation used in three bundle files."""
    assert (
        read("""
        A:
            .doc: "text"
                x is Real: 1
                y is Real: 2
        """)['y']
        == 2.0
    )


def test_assignments_are_distinguished_from_defaults(tmp_path):
    """Count assignments in scenes and other bundles, but not in the declaring bundle."""
    folder = tmp_path / 'Parts'
    folder.mkdir()
    (folder / 'config.openplx').write_text('config is BundleConfig:\n    name: "Parts"\n')
    (folder / 'Box.openplx').write_text(
        'Box is Physics3D.Bodies.RigidBody:\n    size is Real: 1\n    width is Real: size\n'
        '    kinematics.local_transform.position.z: 2\n'
    )
    root = read(
        """
        A:
            default is Physics3D.Bodies.RigidBody
            moved is Physics3D.Bodies.RigidBody:
                kinematics.local_transform.rotation: Math.Quat.from_xyzw(0, 0, 0, 1)
            part is Parts.Box
            mate is Physics3D.Interactions.Hinge:
                connectors: []
        """,
        bundle_paths=[tmp_path],
    )
    for path, expected in (
        ('default.kinematics.local_transform', False),
        ('default.inertia.tensor', False),
        ('default.inertia', False),
        ('default.position_output', False),
        ('moved.kinematics.local_transform', True),
        ('moved.kinematics', True),
        ('moved.kinematics.local_transform.position', False),
        ('moved.inertia', False),
        ('part.kinematics.local_transform', True),
        ('part.size', False),
        ('part.width', False),
        ('mate.connectors', True),
        ('mate.initial_angle', False),
        ('mate.friction', False),
    ):
        assert root.is_assigned(path) is expected, path


def test_places_are_those_of_the_last_assignment():
    """Report the place of the last assignment."""
    root = read("""\
        A:
            x is Real: 1
            y is Real: 1
        B is A:
            x: 2
        """)
    assert (root.place_of('x').line, root.place_of('x').column) == (5, 5)
    assert root.place_of('y').line == 3
    with pytest.raises(UnknownNameError, match="unknown member 'z'"):
        root.place_of('z')


def test_files_of_a_bundle_see_each_other_and_imports_count_from_the_file(tmp_path):
    """Look names up in namespaces, and files beside the importing file."""
    files = {
        'config.openplx': 'config is BundleConfig:\n    name: "Shop"\n',
        'scene.openplx': """\
            import @"../lib/part.openplx" as lib.parts
            import @"../lib/part.openplx"
            Scene is Cars.Car:
                part is lib.parts.Part
                same is Part:
                    size: 3
            """,
        'Cars/Car.openplx': """\
            Car:
                wheel is Wheel
                engine is Engines.Engine
                also is Shop.Engines.Engine
            """,
        'Cars/Wheel.openplx': 'Wheel:\n    radius is Real: 0.3\n',
        'Engines/Engine.openplx': 'Engine:\n    mesh is String: @"engine.obj"\n',
        '../lib/part.openplx': 'Part:\n    size is Real: 2\n    mesh is String: @"part.obj"\n',
    }
    for name, text in files.items():
        path = tmp_path / 'shop' / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    findings = Findings()
    root = read_openplx(tmp_path / 'shop' / 'scene.openplx', findings=findings)
    assert not findings.found, findings.report('scene').to_text()
    assert root['wheel.radius'] == 0.3
    assert root['engine.mesh'] == str(tmp_path / 'shop' / 'Engines' / 'engine.obj')
    assert root['part.mesh'] == str(tmp_path / 'lib' / 'part.obj')
    assert (root['part.size'], root['same.size']) == (2.0, 3.0)
    assert root['wheel'].model.name == 'Shop.Cars.Wheel'


def test_an_imported_urdf_is_a_system_with_a_file(tmp_path):
    """Leave the URDF to the readers of the objects."""
    (tmp_path / 'arm.urdf').write_text('<robot name="Arm"><link name="base"/></robot>')
    scene = tmp_path / 'scene.openplx'
    scene.write_text(
        'import @"arm.urdf"\nimport $"arm.urdf" as robots.Left\n'
        'Scene is Physics3D.System:\n    arm is Arm:\n        local_transform.position.x: 1\n'
        '    left is robots.Left\n'
    )
    findings = Findings()
    root = read_openplx(scene, findings=findings)
    assert not findings.found, findings.report('scene').to_text()
    for name in ('arm', 'left'):
        assert root[name].model.imported == str(tmp_path / 'arm.urdf')
        assert root[name].is_a('Physics3D.System')
    assert vector(root['arm.local_transform.position'])[0] == 1.0


def test_the_scene_with_everything():
    """Evaluate every construct in one scene."""
    findings = Findings()
    root = read_openplx(SCENES / 'machine.openplx', findings=findings)
    assert not findings.found, findings.report('scene').to_text()
    placed = pose(root['base.kinematics.local_transform'])
    assert np.allclose(placed.position, [0, -0.5, 1], atol=1e-15)
    assert np.allclose(placed.rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    assert root['joint.mate.connectors'] == (root['base.end'], root['arm.start'])
    assert root['joint.mate'].is_a('Physics3D.Interactions.Hinge')
    assert root['joint.mate.initial_angle'] == pytest.approx(math.pi / 6, rel=1e-15)
    assert [*vector(root['arm.end.position'])] == [1, 0, 0]
    assert root['arm.shape.material.density'] == 7850
    assert root['base.inertia.mass'] == 2.5
    assert root['spring.flexibility.stiffness'] == 1000
    assert root['spring.connectors'] == root['joint.mate.connectors']
    assert root['mesh.path'] == str(SCENES.parent / 'meshes' / 'part.obj')
    assert matrix(root['base.inertia.tensor']).shape == (3, 3)
    assert sum(1 for found in root.walk() if found.name == 'base') == 1


def test_the_scene_of_the_documentation_with_names_of_two_eras():
    """Evaluate with the latest bundles, and warn once for each changed name."""
    findings = Findings()
    root = read_openplx(SCENES / 'snap_parent.openplx', 'SnapRod', findings=findings)
    report = findings.report('scene')
    assert report.ok and {warning.code for warning in report.warnings} == {'renamed'}
    assert [warning.line for warning in report.warnings] == [
        3,
        5,
        8,
        10,
        22,
        28,
        31,
        32,
        35,
        36,
        39,
        40,
    ]
    half = math.acos(1 / math.sqrt(3)) / 2
    axis = np.array([0, -1, 1]) / math.sqrt(2) * math.sin(half)
    assert np.allclose(
        quaternion(root['rod_system.local_transform.rotation']),
        [*axis, math.cos(half)],
        rtol=0,
        atol=1e-15,
    )
    first, second = root['world_lock.connectors']
    assert first.path == 'rod_system.rod_system.rod.connector'
    assert [*vector(first['position'])] == [0, 0, -0.6]
    assert second is root['world_connector']
