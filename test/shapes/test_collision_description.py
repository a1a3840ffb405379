"""URDF collision elements: resulting geometries, and excluded link pairs."""

from __future__ import annotations

import os
from pathlib import Path

import coal
from meshes import cells
import numpy as np
import pinocchio
import pytest
import trimesh

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.shapes import mesh_cache
from sim_bridge.shapes.meshes import kept
from sim_bridge.trust import folders

pytest_plugins = ['other_users']

INERTIAL = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)


def collision(shape: str, origin: str = '', name: str = '') -> str:
    """Write a collision element."""
    named = f' name="{name}"' if name else ''
    return f'<collision{named}>{origin}<geometry>{shape}</geometry></collision>'


def link(name: str, *collisions: str, inertial: str = INERTIAL) -> str:
    """Write a link."""
    return f'<link name="{name}">{inertial}{"".join(collisions)}</link>'


def joint(parent: str, child: str, xyz: str = '0 0 0', kind: str = 'continuous') -> str:
    """Write a joint about x."""
    return (
        f'<joint name="{parent}_{child}" type="{kind}"><origin xyz="{xyz}"/><parent '
        f'link="{parent}"/><child link="{child}"/><axis xyz="1 0 0"/></joint>'
    )


def robot(*parts: str) -> str:
    """Write a robot."""
    return f'<robot name="r">{"".join(parts)}</robot>'


def chain(*, step: float = 1.0, radius: float = 0.1, extra: str = '') -> str:
    """Write four links with a ball each, `step` apart along x."""
    names = ['a', 'b', 'c', 'd']
    ball = collision(f'<sphere radius="{radius}"/>')
    joints = [joint(p, c, f'{step} 0 0') for p, c in zip(names, names[1:], strict=False)]
    return robot(*(link(name, ball) for name in names), *joints, extra)


def load(text: str, **options) -> sb.Robot:
    """Load a robot into a new world."""
    return sb.World().load_urdf(text, **options)


def excluded_links(loaded: sb.Robot) -> set[str]:
    """Return the excluded link pairs by body names."""
    name = {shape.body: shape.link for shape in loaded.blueprint.shapes}
    return {''.join(sorted((name[a], name[b]))) for a, b in loaded.slot.excluded}


def pinocchio_shapes(path: Path) -> tuple[pinocchio.Model, pinocchio.GeometryModel]:
    """Read a robot of `example-robot-data`, with a free base, and its collision shapes."""
    model = pinocchio.buildModelFromUrdf(str(path), pinocchio.JointModelFreeFlyer())
    [shelf] = [folder.parent for folder in path.parents if folder.name == 'example-robot-data']
    shapes = pinocchio.buildGeomFromUrdf(
        model, str(path), pinocchio.GeometryType.COLLISION, package_dirs=[str(shelf)]
    )
    return model, shapes


def test_primitives_stay_primitives():
    """Read each URDF primitive as the matching shape, with full sizes and its name."""
    loaded = load(
        robot(
            link(
                'a',
                collision('<box size="1 2 3"/>', name='trunk'),
                collision('<sphere radius="0.5"/>'),
                collision('<cylinder radius="0.1" length="0.7"/>'),
                collision('<capsule radius="0.2" length="0.8"/>'),
            )
        )
    )
    shapes = [(geometry.name, geometry.shape) for geometry in loaded.link('a').geometries]
    assert shapes == [
        ('trunk', sb.Box((1, 2, 3))),
        ('a_collision_1', sb.Sphere(0.5)),
        ('a_collision_2', sb.Cylinder(0.1, 0.7)),
        ('a_collision_3', sb.Capsule(0.2, 0.8)),
    ]


def test_geometries_are_where_the_urdf_puts_them(example_robots):
    """Place all geometries as Pinocchio does, with turned joints and a moved base."""
    path = example_robots['anymal_b_simple/anymal']
    world = sb.World()
    loaded = world.load_urdf(path, position=(1, 2, 3), orientation=(0.1, 0.2, 0.3, 0.9))
    loaded.q = np.linspace(-0.5, 0.7, len(loaded.q))

    model, shapes = pinocchio_shapes(path)
    turn = np.array([0.1, 0.2, 0.3, 0.9])
    q = pinocchio.neutral(model)
    q[:7] = [1, 2, 3, *(turn / np.linalg.norm(turn))]
    for name, value in zip(loaded.joint_names, loaded.q, strict=True):
        q[model.joints[model.getJointId(name)].idx_q] = value
    data, placed = model.createData(), shapes.createData()
    pinocchio.updateGeometryPlacements(model, data, shapes, placed, q)

    found = {}
    for geometry in loaded.geometries:
        count = sum(key.rsplit('_', 1)[0] == geometry.link.name for key in found)
        found[f'{geometry.link.name}_{count}'] = geometry
    assert set(found) == {str(shape.name) for shape in shapes.geometryObjects}
    for shape, pose in zip(shapes.geometryObjects, placed.oMg, strict=True):
        np.testing.assert_allclose(found[shape.name].p, pose.translation, atol=1e-12)
        np.testing.assert_allclose(found[shape.name].R, pose.rotation, atol=1e-12)


def test_meshes_become_hulls_or_stay(tmp_path):
    """Convert a mesh to its hull, or keep it by choice, with the URDF's scale."""
    torus = trimesh.creation.torus(1.0, 0.25)
    torus.export(tmp_path / 'torus.stl')
    text = robot(link('a', collision('<mesh filename="torus.stl" scale="1 -2 0.5"/>')))
    path = tmp_path / 'r.urdf'
    path.write_text(text)
    hull = load(path).geometries[0].shape
    assert isinstance(hull, sb.ConvexHull)
    np.testing.assert_allclose(hull.bounds[1], [1.25, 2.5, 0.125], rtol=1e-3)
    mesh = load(path, collisions='mesh').geometries[0].shape
    assert isinstance(mesh, sb.TriangleMesh) and mesh.is_closed
    assert mesh.mass_properties(1.0).mass == pytest.approx(torus.volume, rel=1e-5)
    assert load(path, collisions='none').geometries == []


def test_meshes_become_several_hulls_that_are_kept(tmp_path, monkeypatch):
    """Decompose a mesh once for all processes, and again if the cache is damaged."""
    monkeypatch.setattr(folders, 'folder', lambda: tmp_path)
    filled = np.array([[True, True], [True, False]])[:, :, None]
    vertices, triangles = cells([np.array([0.0, 1.0, 3.0])] * 2 + [np.array([0.0, 1.0])], filled)
    trimesh.Trimesh(vertices, triangles).export(tmp_path / 'corner.stl')
    path = tmp_path / 'r.urdf'
    path.write_text(robot(link('a', collision('<mesh filename="corner.stl"/>', name='corner'))))
    first = load(path, collisions='hulls').geometries
    assert [each.name for each in first] == ['corner', 'corner']
    assert sum(each.shape.mass_properties(1.0).mass for each in first) == pytest.approx(
        5.0, rel=1e-6
    )
    (file,) = (tmp_path / 'hulls').iterdir()
    made = []
    monkeypatch.setattr(kept, 'decompose', lambda mesh: made.append(mesh) or (mesh.convex_hull(),))
    for count in (2, 1, 1):
        mesh_cache._hulls.cache_clear()
        again = load(path, collisions='hulls').geometries
        assert len(again) == count
        if count == 2:
            for one, other in zip(first, again, strict=True):
                np.testing.assert_array_equal(one.shape.vertices, other.shape.vertices)
            file.write_bytes(file.read_bytes()[:100])
    assert len(made) == 1
    mesh_cache._hulls.cache_clear()


def test_kept_hulls_of_another_user_are_not_used(tmp_path, monkeypatch, other_user):
    """Decompose again, and replace the file."""
    monkeypatch.setattr(folders, 'folder', lambda: tmp_path)
    monkeypatch.setattr(kept, 'decompose', lambda mesh: (mesh.convex_hull(),))
    mesh = sb.TriangleMesh(
        np.vstack([np.zeros(3), np.eye(3)]), [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]
    )
    kept.kept_hulls(mesh)
    (file,) = (tmp_path / 'hulls').iterdir()
    other_user.take(file)
    monkeypatch.setattr(kept, 'decompose', lambda mesh: (mesh.convex_hull(),) * 2)
    with pytest.warns(RuntimeWarning, match=f'the file of convex hulls {file} is not used'):
        assert len(kept.kept_hulls(mesh)) == 2
    assert len(kept.kept_hulls(mesh)) == 2
    assert file.stat().st_uid == os.getuid()


def test_robots_share_mesh_files(tmp_path):
    """Read and wrap a mesh once for all robots in a world."""
    trimesh.creation.torus(1.0, 0.25).export(tmp_path / 'torus.stl')
    path = tmp_path / 'r.urdf'
    path.write_text(robot(link('a', collision('<mesh filename="torus.stl"/>'))))
    world = sb.World()
    first, second = world.load_urdf(path), world.load_urdf(path)
    assert first.geometries[0].shape is second.geometries[0].shape


def test_missing_mesh_error_names_the_searched_paths(tmp_path):
    """Reject a robot with a missing collision mesh; name file, line and searched paths."""
    path = tmp_path / 'r.urdf'
    path.write_text(robot('\n', link('a', collision('<mesh filename="package://no/a.stl"/>'))))
    with pytest.raises(sb.DescriptionError) as caught:
        load(path, package_paths=[tmp_path / 'shelf'])
    [error] = caught.value.report.errors
    assert (error.code, error.name, error.line) == ('mesh-not-found', 'a', 2)
    assert error.value == 'package://no/a.stl'
    for place in ('shelf/no/a.stl', 'shelf/share/no/a.stl', str(tmp_path.parent / 'no/a.stl')):
        assert place in error.message


def test_missing_mesh_can_be_lived_with(tmp_path):
    """Load a robot without a missing or broken collision mesh, with a warning."""
    (tmp_path / 'broken.stl').write_bytes(b'solid')
    path = tmp_path / 'r.urdf'
    path.write_text(
        robot(
            link(
                'a',
                collision('<mesh filename="no.stl"/>'),
                collision('<mesh filename="broken.stl"/>'),
                collision('<sphere radius="1"/>'),
            )
        )
    )
    loaded = load(path, missing_meshes='warning')
    assert [type(geometry.shape) for geometry in loaded.geometries] == [sb.Sphere]
    codes = [finding.code for finding in loaded.description.report.warnings]
    assert codes.count('mesh-not-found') == 1 and codes.count('mesh-unreadable') == 1
    assert load(path, collisions='none').geometries == []


@pytest.mark.parametrize('uri', ['meshes/no.stl', 'package://here/no.stl', 'file:///no/no.stl'])
def test_all_missing_meshes_are_left_out_of_known_packages(tmp_path, uri):
    """Load a robot whose meshes are missing in a package that is there; refuse it strictly."""
    folder = tmp_path / 'here'
    folder.mkdir()
    (folder / 'package.xml').write_text('<package><name>here</name></package>')
    path = folder / 'r.urdf'
    path.write_text(robot(link('a', collision(f'<mesh filename="{uri}"/>'))))
    loaded = load(path, missing_meshes='auto')
    assert loaded.geometries == []
    assert [each.omits for each in loaded.description.report.not_simulated] == ['collision']
    with pytest.raises(sb.DescriptionError, match='not found'):
        load(path)


def test_single_missing_meshes_are_left_out_where_others_are_found(tmp_path):
    """Leave out a missing mesh beside one that is there; refuse a robot without any."""
    (tmp_path / 'there.stl').write_bytes(b'solid')
    path = tmp_path / 'r.urdf'
    missing = collision('<mesh filename="package://no/a.stl"/>'), collision('<sphere radius="1"/>')
    path.write_text(robot(link('a', *missing)))
    with pytest.raises(sb.DescriptionError, match='not found'):
        load(path, missing_meshes='auto')
    path.write_text(robot(link('a', *missing, collision('<mesh filename="there.stl"/>'))))
    loaded = load(path, missing_meshes='auto')
    assert [type(geometry.shape) for geometry in loaded.geometries] == [sb.Sphere]
    left_out = loaded.description.report.not_simulated
    assert [each.code for each in left_out] == ['mesh-not-found', 'mesh-unreadable']
    assert {each.omits for each in left_out} == {'collision'}


def test_neighbours_are_excluded():
    """Exclude links connected by a joint, and no others that are apart."""
    assert excluded_links(load(chain())) == {'ab', 'bc', 'cd'}


def test_initial_overlaps_are_excluded():
    """Exclude links overlapping or touching in the initial pose, and no others."""
    assert excluded_links(load(chain(step=0.09, radius=0.1))) == {'ab', 'ac', 'bc', 'bd', 'cd'}
    assert excluded_links(load(chain(step=0.1, radius=0.1))) == {'ab', 'ac', 'bc', 'bd', 'cd'}
    assert excluded_links(load(chain(step=0.101, radius=0.1))) == {'ab', 'bc', 'cd'}


def test_begin_is_where_stops_allow():
    """Check overlaps in the initial pose: each joint at 0, or at the nearest stop."""
    text = robot(
        link('a', collision('<box size="2 0.2 0.2"/>', '<origin xyz="-1.2 0 0"/>')),
        link('b'),
        link('c', collision('<box size="2 0.2 0.2"/>', '<origin xyz="-1.2 0 0"/>')),
        joint('a', 'b'),
        '<joint name="j" type="prismatic"><parent link="b"/><child link="c"/>'
        '<axis xyz="0 0 1"/><limit lower="LOW" upper="2" effort="1" velocity="1"/></joint>',
    )
    assert excluded_links(load(text.replace('LOW', '1'))) == set()
    assert excluded_links(load(text.replace('LOW', '-1'))) == {'ac'}


def test_bodies_without_mass_and_shape_are_part_of_a_joint():
    """Exclude the links at a ball joint made from three hinges and empty links."""
    ball = collision('<sphere radius="0.1"/>')
    text = robot(
        link('a', ball),
        link('x', inertial=''),
        link('y', inertial=''),
        link('c', ball),
        joint('a', 'x', '1 0 0'),
        joint('x', 'y'),
        joint('y', 'c', '1 0 0'),
    )
    assert excluded_links(load(text)) == {'ac'}
    # a link with mass separates the two joints
    heavy = text.replace('<link name="y">', f'<link name="y">{INERTIAL}')
    assert excluded_links(load(heavy)) == set()


def test_links_fixed_to_each_other_are_one():
    """Exclude links fixed together from each one's neighbours."""
    ball = collision('<sphere radius="0.1"/>')
    text = robot(
        link('a', ball),
        link('b', ball),
        link('c', ball),
        joint('a', 'b', '1 0 0'),
        joint('b', 'c', '1 0 0', 'fixed'),
    )
    sensor = (
        '<gazebo reference="b_c"><sensor name="s" type="force_torque"><force_torque/></sensor>'
        '</gazebo>'
    )
    assert len(load(text).slot.excluded) == 1
    # a force-torque sensor splits them into two bodies
    measured = load(text.replace('</robot>', f'{sensor}</robot>'))
    assert excluded_links(measured) == {'ab', 'ac', 'bc'}


def test_self_collision_can_be_turned_off():
    """Exclude all link pairs in a robot."""
    assert excluded_links(load(chain(), self_collision=False)) == {
        'ab',
        'ac',
        'ad',
        'bc',
        'bd',
        'cd',
    }


@pytest.mark.parametrize(
    ('tags', 'expected'),
    [
        ({'a': 'true'}, {'ab', 'bc', 'bd', 'cd'}),
        ({'a': 'false'}, {'ab', 'ac', 'ad', 'bc', 'bd', 'cd'}),
        ({'': 'true', 'd': 'false'}, {'ab', 'bc', 'cd'}),
        ({'': '0'}, {'ab', 'ac', 'ad', 'bc', 'bd', 'cd'}),
    ],
)
def test_gazebos_self_collide_is_followed(tags, expected):
    """Let links collide if SDF says so for either of them: collision with its own model."""
    extra = ''.join(
        f'<gazebo reference="{name}"><selfCollide>{text}</selfCollide></gazebo>'
        if name
        else f'<gazebo><self_collide>{text}</self_collide></gazebo>'
        for name, text in tags.items()
    )
    assert excluded_links(load(chain(extra=extra))) == expected
    assert excluded_links(load(chain(extra=extra), self_collision=True)) == {'ab', 'bc', 'cd'}


def test_srdf_lists_excluded_pairs(tmp_path):
    """Use an SRDF's list instead of an overlap check."""
    srdf = tmp_path / 'r.srdf'
    srdf.write_text(
        '<robot name="r"><disable_collisions link1="a" link2="d" reason="Never"/></robot>'
    )
    loaded = load(chain(step=0.09, radius=0.1), srdf=srdf)
    assert excluded_links(loaded) == {'ab', 'ad', 'bc', 'cd'}


def test_srdf_of_another_robot_is_refused():
    """Name the unknown link in an SRDF, with its line."""
    srdf = '<robot name="r">\n<disable_collisions link1="a" link2="elbw"/></robot>'
    with pytest.raises(sb.DescriptionError, match='2: error.*link2=.elbw.*no link has this name'):
        load(chain(), srdf=srdf)


def test_gazebos_surface_tags_make_a_material():
    """Take friction, stiffness, damping and speed from Gazebo's tags; ignore the layer."""
    extra = (
        '<gazebo reference="a"><mu1>0.3</mu1><mu2>0.4</mu2><kp>1e5</kp><kd>50</kd>'
        '<fdir1>0 2 0</fdir1><maxVel>0.01</maxVel><minDepth>0.002</minDepth></gazebo>'
        '<gazebo reference="b"><mu1 value="0.7"/></gazebo>'
        '<gazebo reference="c"><mu1 value="0.7"/></gazebo>'
    )
    loaded = load(chain(extra=extra), material=sb.Material('other', friction=0.5))
    first, second, third, fourth = (loaded.link(name).geometries[0].material for name in 'abcd')
    assert first == sb.Material(
        'r/a',
        friction=0.3,
        friction2=0.4,
        youngs_modulus=1e5,
        damping=50 / 1e5 + 1e-3,
        max_correcting_velocity=0.01,
    )
    assert second == third == sb.Material('r/b', friction=0.7)
    assert fourth.name == 'other'
    np.testing.assert_array_equal(loaded.world.simulation.cache.geometry.direction[0], [0, 1, 0])
    # ODE's contact is a spring kp and a damper kd + h kp, with Gazebo's step h of 1 ms
    pair = loaded.world.materials.contact_material(first, fourth)
    assert (pair.stiffness, pair.damping) == (1e5, pytest.approx(150))


def test_wrong_surface_tags_are_warned_of():
    """Warn about invalid values in Gazebo's tags, and continue without them."""
    extra = (
        '<gazebo reference="a"><mu1>much</mu1><kp>0</kp><selfCollide>maybe</selfCollide></gazebo>'
    )
    loaded = load(chain(extra=extra))
    assert loaded.link('a').geometries[0].material.name == 'default'
    values = {finding.value for finding in loaded.description.report.warnings}
    assert values >= {'much', '0', 'maybe'}


def test_two_robots_of_one_name_may_differ():
    """Number the second robot's material if it differs and the robot name is equal."""
    world = sb.World()
    tag = '<gazebo reference="a"><mu1>{}</mu1></gazebo>'
    names = [
        world.load_urdf(chain(extra=tag.format(mu))).geometries[0].material.name
        for mu in (0.3, 0.3, 0.6)
    ]
    assert names == ['r/a', 'r/a', 'r/a_2']


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (
            {'collisions': 'parts'},
            "collisions = 'parts': expected 'hull', 'hulls', 'mesh' or 'none'",
        ),
        ({'missing_meshes': 'ignore'}, "missing_meshes = 'ignore'"),
    ],
)
def test_unknown_choices_are_refused(options, message):
    """Name the invalid choice and the valid ones."""
    with pytest.raises(InvalidValueError, match=message):
        load(chain(), **options)


ROBOTS = [
    'a1/a1',
    'anymal_b_simple/anymal',
    'bolt/bolt',
    'double_pendulum/double_pendulum',
    'finger_edu/finger_edu',
    'go2/go2',
    'hyq/hyq_no_sensors',
    'panda/panda',
    'solo/solo12',
    'talos_data/talos_reduced',
    'ur/ur5_robot',
]


@pytest.mark.parametrize('name', ROBOTS)
def test_robots_do_not_begin_in_themselves(example_robots, name):
    """Exclude each link pair found overlapping by Coal in a real robot's initial pose."""
    path = example_robots[name]
    loaded = load(path)
    model, shapes = pinocchio_shapes(path)
    q = pinocchio.neutral(model)
    for joint_name, value in zip(loaded.joint_names, loaded.q, strict=True):
        index = model.joints[model.getJointId(joint_name)]
        q[index.idx_q] = value if index.nq == 1 else np.cos(value)
        if index.nq == 2:
            q[index.idx_q + 1] = np.sin(value)
    data, placed = model.createData(), shapes.createData()
    pinocchio.updateGeometryPlacements(model, data, shapes, placed, q)

    solids, body = [], {shape.link: shape.body for shape in loaded.blueprint.shapes}
    for shape, pose in zip(shapes.geometryObjects, placed.oMg, strict=True):
        solid = shape.geometry
        if isinstance(solid, coal.BVHModelBase):
            solid.buildConvexHull(True, 'Qt')
            solid = solid.convex
        link_name = model.frames[shape.parentFrame].name
        solids.append((body[link_name], solid, coal.Transform3s(pose.rotation, pose.translation)))
    for i, (body_a, solid_a, pose_a) in enumerate(solids):
        for body_b, solid_b, pose_b in solids[i + 1 :]:
            pair = min(body_a, body_b), max(body_a, body_b)
            if body_a != body_b and pair not in loaded.slot.excluded:
                request, result = coal.CollisionRequest(), coal.CollisionResult()
                assert not coal.collide(solid_a, pose_a, solid_b, pose_b, request, result), pair
