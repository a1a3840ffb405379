"""Robots in MJCF: kinematics and dynamics beside MuJoCo, shapes, contact rules, lines."""

from itertools import combinations
from pathlib import Path

import gymnasium
import mujoco
import numpy as np
import pytest
import trimesh

from corpus.mjcf_models import outcome_of
from corpus.mjcf_twin import compare
import sim_bridge as sb
from sim_bridge.description.mjcf import load as mjcf
from sim_bridge.description.model import JointType
from sim_bridge.description.reader import Source
from sim_bridge.description.report import Findings

_TOLERANCE = 1e-9
_ALL_JOINTS = """
<mujoco model="all joints">
  <compiler angle="degree" autolimits="true"/>
  <option gravity="0.3 -0.4 -9.81"/>
  <default>
    <geom type="capsule" size="0.04 0.1" density="800"/>
    <joint damping="0.2" armature="0.03"/>
    <default class="bent"><geom type="box" size="0.05 0.1 0.03"/></default>
  </default>
  <worldbody>
    <body name="free" pos="0.2 0 1" euler="10 20 30">
      <joint type="free" armature="0" damping="0"/>
      <geom pos="0.02 0.01 0" euler="0 40 0"/>
      <site name="eye" pos="0.1 0 0.05" euler="0 90 0"/>
      <body name="several" pos="0 0.3 0.1" euler="0 0 50" childclass="bent">
        <joint name="first" axis="1 1 0" pos="0.02 0 0" ref="20" range="-60 80"/>
        <joint name="second" type="slide" axis="0 1 1" ref="0.1" range="-1 1"/>
        <joint name="third" axis="0 0 1" pos="0 0.03 0.01" damping="1"/>
        <geom mass="0.7"/>
        <body name="ball" pos="0 0.2 0" quat="0.9 0.1 -0.2 0.3">
          <joint name="shoulder" type="ball" pos="0 -0.05 0"/>
          <geom/>
          <frame pos="0.1 0 0" euler="0 0 90">
            <body name="ball and hinge">
              <joint name="reach" type="slide" axis="1 0 0"/>
              <joint name="wrist" type="ball" pos="0 0.1 0"/>
              <inertial pos="0.01 0.02 0.03" mass="0.4"
                fullinertia="0.02 0.03 0.025 0.001 -0.002 0.003"/>
              <site name="tip" pos="0.1 0.1 0.1"/>
            </body>
          </frame>
        </body>
      </body>
    </body>
    <body name="cart" pos="0 -1 0.5">
      <joint name="rail" type="slide" axis="1 0 0" ref="0.5"/>
      <geom class="bent"/>
      <body name="pole"><joint name="pivot" axis="0 1 0"/><geom fromto="0 0 0 0 0 0.6"/></body>
    </body>
    <body name="post" pos="1 1 0" euler="0 0 45">
      <geom type="cylinder" size="0.05 0.5"/>
      <body name="gate" pos="0 0 0.3" gravcomp="1">
        <joint name="hinge" axis="0 0 -1"/><geom type="ellipsoid" size="0.3 0.1 0.2"/>
      </body>
    </body>
  </worldbody>
</mujoco>"""


def read(source, model=''):
    """Read a robot; return it with its report."""
    findings = Findings()
    description, label = mjcf.read_robot(Source(source, model=model), findings)
    return description, findings.report(label)


def test_mujocos_motion_equations_are_ours():
    """Have the mass matrix, bias force, poses and Jacobians of MuJoCo, for all joint kinds."""
    found = compare(_ALL_JOINTS, states=5)
    assert found.report.ok, found.report.to_text()
    assert found.nv == 19
    assert set(found.errors) == {
        'mass matrix',
        'bias force',
        'body pose',
        'site pose',
        'site Jacobian',
    }
    assert found.worst < _TOLERANCE


def test_joint_properties_are_those_of_the_file():
    """Read limits, passive forces and the initial position of a joint."""
    description, report = read("""
      <mujoco><compiler angle="radian"/><worldbody><body name="arm">
        <joint name="elbow" axis="0 2 0" range="-1 2" ref="0.5" damping="0.3" armature="0.02"
          frictionloss="0.1" stiffness="7" springref="0.25" actuatorfrcrange="-3 4"/>
        <geom size="0.1"/>
      </body></worldbody></mujoco>""")
    assert report.ok and not report.findings
    joint = description.joints['elbow']
    assert joint.type is JointType.REVOLUTE and joint.axis.tolist() == [0.0, 1.0, 0.0]
    assert (joint.limits.lower, joint.limits.upper) == (-1.0, 2.0)
    assert joint.limits.efforts == (-3.0, 4.0)
    dynamics = joint.dynamics
    assert (dynamics.damping, dynamics.friction, dynamics.armature) == (0.3, 0.1, 0.02)
    assert (dynamics.stiffness, dynamics.reference) == (7.0, 0.25)
    assert description.positions == {'elbow': 0.5}


def free_path(text, duration):
    """Return MuJoCo's joint positions after some time."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, round(duration / model.opt.timestep))
    return data.qpos.copy()


def test_springs_and_dampers_move_as_in_mujoco():
    """Follow MuJoCo's free path of an arm with springs, dampers and rotor inertias."""
    text = """
      <mujoco><option timestep="1e-4" integrator="RK4"/><compiler angle="radian"/><worldbody>
        <body name="a"><joint name="a" axis="0 1 0" stiffness="4" springref="0.5" damping="0.1"/>
          <geom fromto="0 0 0 0.3 0 0" size="0.03" type="capsule"/>
          <body name="b" pos="0.3 0 0">
            <joint name="b" axis="0 1 0" armature="0.01" damping="0.05"/>
            <joint name="c" axis="1 0 0" ref="0.2" stiffness="1" damping="0.02"/>
            <geom fromto="0 0 0 0.2 0.1 0" size="0.03" type="capsule"/></body></body>
      </worldbody></mujoco>"""
    description, report = read(text)
    assert report.ok
    world = sb.World(time_step=1e-4)
    robot = world.add_robot(description, collisions='none')
    world.step(5000)
    assert robot.joint_names == ['a', 'b', 'c']
    # second order in the step here, fourth in MuJoCo
    np.testing.assert_allclose(robot.q, free_path(text, 0.5), atol=2e-6)


def test_geoms_of_all_kinds_become_shapes(tmp_path):
    """Make a shape for each kind of geom; draw shown groups alone, collide by bits alone."""
    trimesh.creation.box((0.2, 0.4, 0.6)).export(tmp_path / 'brick.stl')
    (tmp_path / 'robot.xml').write_text("""
      <mujoco><asset><mesh name="brick" file="brick.stl" scale="0.5 1 1"/>
        <material name="red" rgba="1 0 0 0.5"/></asset>
      <worldbody><body name="all"><freejoint/>
        <geom type="sphere" size="0.1" material="red"/>
        <geom type="capsule" size="0.1 0.2"/>
        <geom type="ellipsoid" size="0.1 0.2 0.3" pos="1 2 3"/>
        <geom type="cylinder" size="0.1 0.2" contype="0" conaffinity="0"/>
        <geom name="crate" type="box" size="0.1 0.2 0.3" group="3"/>
        <geom name="stone" type="mesh" mesh="brick"/>
      </body></worldbody></mujoco>""")
    description, report = read(tmp_path / 'robot.xml')
    assert report.ok and not report.findings
    link = description.links['all']
    assert [each.kind for each in link.visuals] == [
        'sphere',
        'capsule',
        'ellipsoid',
        'cylinder',
        'mesh',
    ]
    assert link.visuals[0].color == (1.0, 0.0, 0.0, 0.5)
    assert [each.kind for each in link.collisions] == [
        'sphere',
        'capsule',
        'ellipsoid',
        'box',
        'mesh',
    ]
    robot = sb.World().add_robot(description)
    shapes = [each.shape for each in robot.geometries]
    assert shapes[:4] == [
        sb.Sphere(0.1),
        sb.Capsule(0.1, 0.4),
        sb.Ellipsoid((0.1, 0.2, 0.3)),
        sb.Box((0.2, 0.4, 0.6)),
    ]
    assert np.ptp(shapes[4].vertices, axis=0).max() == pytest.approx(0.6)
    assert description.files == tuple(map(str, [tmp_path / 'robot.xml', tmp_path / 'brick.stl']))


def test_mesh_files_are_drawn_in_place(tmp_path):
    """Draw a mesh by its file where MuJoCo has the vertices of the compiled mesh."""
    part = trimesh.creation.cone(0.2, 0.5)
    part.apply_transform(trimesh.transformations.rotation_matrix(1.0, [1, 2, 3], [0.1, 0.2, 0.3]))
    part.export(tmp_path / 'part.stl')
    (tmp_path / 'robot.xml').write_text("""
      <mujoco><asset><mesh name="part" file="part.stl" scale="1 -2 0.5"/></asset><worldbody>
        <body name="a"><freejoint/><geom type="mesh" mesh="part" pos="1 2 3" euler="10 20 30"/>
      </body></worldbody></mujoco>""")
    description, report = read(tmp_path / 'robot.xml')
    assert report.ok
    (visual,), (collision,) = description.links['a'].visuals, description.links['a'].collisions
    vertices = trimesh.load(visual.path).vertices * visual.size
    drawn = vertices @ visual.pose.rotation.T + visual.pose.position
    compiled = collision.surface.vertices @ collision.pose.rotation.T + collision.pose.position
    gaps = np.linalg.norm(drawn[:, None] - compiled[None], axis=2).min(axis=1)
    assert gaps.max() < 1e-6


def test_bodies_touch_as_in_mujoco():
    """Let the same pairs touch as MuJoCo: by bits, pairs, excludes, parents and children."""
    rng = np.random.default_rng(4)
    geoms = [
        f'<geom name="g{k}" size="0.1" contype="{a}" conaffinity="{b}"/>'
        for k, (a, b) in enumerate(rng.integers(0, 4, (9, 2)))
    ]
    text = f"""<mujoco><option gravity="0 0 0"/><worldbody>
      <body name="b0">{geoms[0]}{geoms[1]}
        <body name="b1"><joint name="j1"/>{geoms[2]}{geoms[3]}
          <body name="b2"><joint name="j2"/><joint name="j2b" axis="0 1 0"/>{geoms[4]}{geoms[5]}
            <body name="b3"><joint name="j3"/>{geoms[6]}</body></body></body>
        <body name="b4"><joint name="j4"/>{geoms[7]}{geoms[8]}</body>
      </body></worldbody>
      <contact><exclude body1="b1" body2="b4"/><pair geom1="g0" geom2="g6"/></contact></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    theirs = {
        frozenset(model.geom(number).name for number in contact.geom) for contact in data.contact
    }
    description, report = read(text)
    assert report.ok, report.to_text()
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    robot = world.add_robot(description)
    world.step()
    ours = {
        frozenset((contact.geometry_a.name, contact.geometry_b.name)) for contact in world.contacts
    }
    assert len(robot.geometries) == sum(1 for a, b in zip(*_bits(model), strict=True) if a or b)
    assert ours == theirs
    assert 3 < len(theirs) < len(list(combinations(range(9), 2)))


def _bits(model):
    return model.geom_contype.tolist(), model.geom_conaffinity.tolist()


def test_friction_is_that_of_the_geoms():
    """Take sliding friction from condim 3, torsional from 4, rolling from 6."""
    description, _ = read("""
      <mujoco><worldbody><body name="a"><freejoint/>
        <geom size="0.1" friction="0.7 0.02 0.001" condim="1"/>
        <geom size="0.1" friction="0.7 0.02 0.001"/>
        <geom size="0.1" friction="0.7 0.02 0.001" condim="4"/>
        <geom size="0.1" friction="0.7 0.02 0.001" condim="6"/>
      </body></worldbody></mujoco>""")
    world = sb.World()
    robot = world.add_robot(description)
    found = [each.material for each in robot.geometries]
    assert [each.friction for each in found] == [0.0, 0.7, 0.7, 0.7]
    assert [each.spinning_friction for each in found] == [0.0, 0.0, 0.02, 0.02]
    assert [each.rolling_friction for each in found] == [0.0, 0.0, 0.0, 0.001]


def test_defects_have_the_line_of_their_file(tmp_path):
    """Name file and line for MuJoCo's errors and for elements without simulation."""
    (tmp_path / 'part.xml').write_text(
        '<mujoco>\n<worldbody>\n<body name="leg">\n<freejoint/>\n'
        '<body name="foot">\n<joint name="toe" type="ball" stiffness="3"/>\n<geom size="0.1"/>\n'
        '</body>\n<geom size="0.1"/>\n</body>\n</worldbody>\n</mujoco>'
    )
    main = tmp_path / 'main.xml'
    main.write_text('<mujoco>\n<include file="part.xml"/>\n</mujoco>')
    description, report = read(main)
    (found,) = report.findings
    assert (found.code, found.name, found.attribute) == ('not-simulated', 'toe', 'stiffness')
    assert (found.file, found.line) == (str(tmp_path / 'part.xml'), 6)
    assert description.files == (str(main), str(tmp_path / 'part.xml'))
    main.write_text('<mujoco>\n<worldbody>\n<body>\n<joint/>\n</body>\n</worldbody>\n</mujoco>')
    description, report = read(main)
    (found,) = report.errors
    assert description is None and found.line == 3
    assert 'mass and inertia of moving bodies' in found.message


def test_one_robot_of_several_is_chosen_by_name():
    """Refuse a file with several robots by their names; read one by its name."""
    text = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
      <body name="left"><joint/><geom size="0.1"/></body>
      <body name="right"><joint/><geom size="0.1"/></body></worldbody></mujoco>"""
    _, report = read(text)
    (found,) = report.errors
    assert found.code == 'several-robots' and 'left, right' in found.message
    description, report = read(text, 'right')
    assert report.ok and [each.code for each in report.warnings] == ['left-to-world']
    assert description.joints.keys() == {'right_joint'}
    _, report = read(text, 'rigth')
    assert "did you mean 'right'" in report.errors[0].message


@pytest.mark.parametrize(
    ('inner', 'named'),
    [
        (
            '<worldbody><flexcomp name="cloth" type="grid" count="3 3 1" spacing=".1 .1 .1" '
            'radius=".01" dim="2" mass="1"/></worldbody>',
            'flex',
        ),
        (
            '<worldbody><body name="a"><joint name="j"/><geom size="0.1"/></body></worldbody>'
            '<actuator><muscle name="calf" joint="j" lengthrange="0 1"/></actuator>',
            'muscles',
        ),
        (
            '<extension><plugin plugin="mujoco.elasticity.cable"/></extension><worldbody>'
            '<body name="a"><freejoint/><geom type="box" size="0.1 0.1 0.1"/>'
            '<plugin plugin="mujoco.elasticity.cable"/></body></worldbody>',
            'plugin',
        ),
    ],
    ids=['flex', 'muscle', 'plugin'],
)
def test_what_bodies_of_other_laws_need_is_refused_by_name(inner, named):
    """Refuse deformable bodies, muscles and plugins, with their names."""
    description, report = read(f'<mujoco>{inner}</mujoco>')
    assert not report.ok
    assert any(named in each.message for each in report.errors), report.to_text()


def test_elements_without_simulation_are_named(tmp_path):
    """Name each element that has no counterpart, once, with its line."""
    path = tmp_path / 'named.xml'
    path.write_text("""<mujoco><option density="1.2" viscosity="0.1" wind="1 0 0">
<flag sensor="disable" override="enable"/></option>
<custom><numeric name="n" data="1"/><text name="t" data="x"/></custom>
<worldbody><site name="w"/><body name="a"><joint name="j" axis="0 1 0"/><joint name="k"/>
<geom size="0.1" margin="0.01"/><site name="s"/></body></worldbody>
<contact><exclude name="across" body1="world" body2="a"/></contact>
<tendon><spatial name="long"><site site="s"/><site site="w"/></spatial>
<fixed name="pull" range="0 1"><joint joint="j" coef="1"/></fixed></tendon>
<equality><tendon name="rope" tendon1="pull"/>
<joint name="off" joint1="j" joint2="k" active="false"/></equality>
<actuator><motor name="m" tendon="long"/></actuator>
<sensor><velocimeter name="v" site="s"/><touch name="t" site="s"/></sensor></mujoco>""")
    _, report = read(path)
    assert report.ok
    named = {(each.element, each.name or each.attribute): each.line for each in report.findings}
    assert named == {
        ('option/flag', 'sensor'): 0,
        ('option/flag', 'override'): 0,
        ('geom', 'margin'): 5,
        ('exclude', 'across'): 6,
        ('tendon', 'long'): 7,
        ('tendon', 'pull'): 8,
        ('equality', 'rope'): 9,
        ('equality', 'off'): 10,
        ('actuator', 'm'): 11,
        ('sensor', 'v'): 12,
        ('sensor', 't'): 12,
    }


def test_models_of_gymnasium_are_equal():
    """Read every model of a package that MuJoCo reads, with equal equations of motion."""
    folder = Path(gymnasium.__file__).parent / 'envs' / 'mujoco' / 'assets'
    paths = sorted(folder.glob('*.xml'))
    assert len(paths) > 10
    for path in paths:
        found = compare(path, states=1)
        assert outcome_of(found) == 'equal', path.name
