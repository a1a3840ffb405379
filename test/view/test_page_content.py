"""Data sent to the page, compared with the world's poses, forces and readings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.page_client import PageClient
import trimesh

import sim_bridge as sb
from sim_bridge.foundation.rotation import matrix_from_quaternion

STEP = 1e-3
INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
ROBOT = f"""<robot name="r">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base">
    <inertial><mass value="2"/>{INERTIA}</inertial>
    <visual><origin xyz="0 0 0.1" rpy="0 0 1"/><geometry><mesh filename="part.stl"
      scale="2 -2 2"/></geometry><material name="red"/></visual>
    <visual><geometry><mesh filename="two.obj"/></geometry></visual>
    <visual><geometry><mesh filename="broken.dae"/></geometry></visual>
    <collision><geometry><box size="0.31 0.32 0.33"/></geometry></collision>
  </link>
  <link name="arm">
    <inertial><mass value="1"/>{INERTIA}</inertial>
    <visual><geometry><cylinder radius="0.1" length="0.4"/></geometry>
      <material name=""><color rgba="0 0 1 0.5"/></material></visual>
    <collision><geometry><cylinder radius="0.11" length="0.4"/></geometry></collision>
  </link>
  <joint name="j" type="revolute"><parent link="base"/><child link="arm"/>
    <origin xyz="0 0 0.5" rpy="0.3 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <gazebo reference="j"><sensor name="felt" type="force_torque"/></gazebo>
  <gazebo reference="arm"><sensor name="eye" type="gpu_lidar"><pose>0.2 0 0 0 0 0</pose><lidar>
    <scan><horizontal><samples>5</samples><min_angle>-1</min_angle><max_angle>1</max_angle>
    </horizontal></scan><range><min>0.1</min><max>10</max></range></lidar></sensor></gazebo>
</robot>"""


@pytest.fixture(scope='module')
def scene(tmp_path_factory):
    """Yield a resting world, its viewer, and a client."""
    folder: Path = tmp_path_factory.mktemp('robot')
    trimesh.creation.box((0.1, 0.2, 0.3)).export(folder / 'part.stl')
    (folder / 'two.mtl').write_text('newmtl a\nKd 1 1 0\nnewmtl b\nKd 0 1 1\n')
    (folder / 'two.obj').write_text(
        'mtllib two.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n'
        'usemtl a\nf 1 2 3\nusemtl b\nf 1 2 4\n'
    )
    (folder / 'broken.dae').write_text('<COLLADA')
    (folder / 'r.urdf').write_text(ROBOT)
    world = sb.World(STEP)
    robot = world.load_urdf(folder / 'r.urdf', position=(1.0, 2.0, 0.5), base='fixed')
    robot.q[:] = 0.4
    world.add_body(sb.Box((0.5, 4.0, 2.0)), name='wall', position=(4.0, 2.0, 1.0), motion='static')
    world.add_body(sb.HeightField(np.zeros((3, 3)), (1.0, 1.0)), name='field', motion='static')
    world.add_body(
        sb.Sphere(0.2), mass=1.0, name='ball', position=(0.0, 0.0, 3.0), motion='kinematic'
    )
    world.step()
    with world.view(browser=False) as viewer, PageClient(viewer.url) as client:
        client.wait_for('Shapes')
        yield world, viewer, client


def wait(scene, what, is_so):
    """Publish until a condition holds."""
    _, viewer, client = scene

    def look():
        viewer.sync()
        return is_so()

    return client.wait(what, look)


def rows(client: PageClient, role: str):
    """Return (node, index in it, position, quaternion w x y z) of all parts with a role."""
    return [
        (node, k, position, wxyz)
        for name, node in client.nodes.items()
        if name.startswith(f'/world/{role}/') and 'batched_positions' in node
        for k, (position, wxyz) in enumerate(
            zip(
                node['batched_positions'].reshape(-1, 3),
                node['batched_wxyzs'].reshape(-1, 4),
                strict=True,
            )
        )
    ]


def found(client: PageClient, role: str, position, size: float | None = None):
    """Return the node and the index in it of the part at a position; KeyError without."""
    for node, k, p, _ in rows(client, role):
        if np.allclose(p, position, atol=1e-5) and (
            size is None or np.isclose(node['batched_scales'].reshape(-1, 3)[k, 0], size)
        ):
            return node, k
    raise KeyError(position)


def color(part) -> tuple[int, ...]:
    node, k = part
    return tuple(node['batched_colors'].reshape(-1, 3)[k].tolist())


def test_visuals_are_where_their_links_are_in_their_colours(scene):
    """Draw visual shapes at their links' poses, in the colours of the URDF."""
    world, _, client = scene
    robot = world.robots['r']
    base, arm = robot.link('base'), robot.link('arm')
    node, k = wait(scene, 'the arm', lambda: found(client, 'visual', arm.p, 0.1))
    assert color((node, k)) == (0, 0, 255)
    assert node['batched_opacities'].tolist() == [0.5]
    quaternion = node['batched_wxyzs'].reshape(-1, 4)[k].astype(float)
    assert matrix_from_quaternion(quaternion[[1, 2, 3, 0]]) == pytest.approx(arm.R, abs=1e-6)
    part = wait(scene, 'the STL', lambda: found(client, 'visual', base.p + (0.0, 0.0, 0.1)))
    assert color(part) == (255, 0, 0)
    node, k = part
    assert node['batched_scales'].tolist() == [2.0, 2.0, 2.0]
    # mirrored, with triangles still facing outwards
    corners = node['vertices'].reshape(-1, 3)[node['faces'].reshape(-1, 3)]
    volume = np.einsum('ij,ij->', corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    assert volume == pytest.approx(0.1 * 0.2 * 0.3)


def test_a_mesh_with_two_materials_is_a_model_and_a_broken_one_is_reported(scene):
    """Draw a mesh with its materials; name a broken one."""
    world, _, client = scene
    base = world.robots['r'].link('base')
    node, _ = wait(
        scene,
        'the OBJ',
        lambda: [each for each in rows(client, 'visual') if each[0].get('glb_data')][0][:2],
    )
    assert np.allclose(node['batched_positions'], base.p)
    wait(scene, 'a warning', lambda: any('broken.dae' in text for text in client.texts))
    # it is invisible otherwise
    wait(scene, 'its collision shape', lambda: found(client, 'collision', base.p, 0.31))


def test_collision_shapes_wireframe_and_colours_by_motion(scene):
    """Draw collision shapes, wires and motion colours on request."""
    world, _, client = scene
    arm = world.robots['r'].link('arm')
    client.set('Shapes', 'Collision')
    wait(scene, 'the shape', lambda: found(client, 'collision', arm.p, 0.11))
    assert not rows(client, 'visual')
    client.set('Shapes', 'Both')
    client.set('Wireframe', True)
    wait(
        scene,
        'a wireframe',
        lambda: [each for each in rows(client, 'visual') if each[0].get('wireframe')],
    )
    assert not any(each[0].get('glb_data') for each in rows(client, 'visual'))
    client.set('Colours', 'by motion')
    client.set('Wireframe', False)
    wait(scene, 'blue', lambda: color(found(client, 'both', (0, 0, 3.0), 0.2)) == (89, 128, 191))
    wait(scene, 'grey', lambda: color(found(client, 'both', (4, 2, 1.0), 0.5)) == (184, 186, 191))
    client.set('Shapes', 'Visual')
    client.set('Colours', 'their own')


def test_changed_heights_and_motions_are_shown(scene):
    """Redraw height fields and colours when they change."""
    world, _, client = scene
    field, ball = world.robots['field'].geometries[0], world.robots['ball']
    field.set_heights(np.full((1, 1), 0.7), 1, 1)
    wait(
        scene,
        'a hill',
        lambda: any(
            np.isclose(each[0]['vertices'].reshape(-1, 3)[:, 2].max(), 0.7)
            for each in rows(client, 'both')
        ),
    )
    client.set('Colours', 'by motion')
    ball.motion = 'dynamic'
    wait(scene, 'orange', lambda: color(found(client, 'both', (0, 0, 3.0), 0.2)) == (230, 143, 54))
    client.set('Colours', 'their own')
    ball.motion = 'kinematic'


def test_rays_end_where_the_lidar_sees_the_wall(scene):
    """Draw rays with the length measured by the lidar."""
    world, _, client = scene
    arm, eye = world.robots['r'].link('arm'), world.robots['r'].device('eye')
    wait(scene, 'rays', lambda: client.nodes['/world/rays']['points'].size)
    lines = client.nodes['/world/rays']['points'].reshape(-1, 2, 3)
    seen = np.isfinite(eye.ranges)
    place = arm.p + arm.R @ (0.2, 0.0, 0.0)
    assert seen.any() and len(lines) == seen.sum()
    assert lines[:, 0] == pytest.approx(np.tile(place, (len(lines), 1)), abs=1e-5)
    assert lines[:, 1] == pytest.approx(
        place + eye.ranges[seen, None] * (eye.directions[seen] @ arm.R.T), abs=1e-5
    )
    assert np.allclose(client.nodes['/world/hits']['points'].reshape(-1, 3), lines[:, 1])


def test_sensors_show_places_forces_and_torques(scene):
    """Draw sensors at their poses, with the measured force and torque."""
    world, _, client = scene
    arm, felt = world.robots['r'].link('arm'), world.robots['r'].device('felt')
    client.set('Force and torque', True)
    client.set('Places of sensors', True)
    for name, value in (('measured_force', felt.f), ('measured_torque', felt.tau)):
        wait(scene, name, lambda name=name: client.nodes[f'/world/{name}']['points'].size)
        arrow = client.nodes[f'/world/{name}']['points'].reshape(-1, 2, 3)
        scale = client.widgets['Scale of both']['value']
        assert arrow[0, 1] - arrow[0, 0] == pytest.approx(scale * arm.R @ value, abs=1e-4)
    wait(scene, 'axes', lambda: client.nodes['/world/sensors']['batched_positions'].size)
    axes = client.nodes['/world/sensors']['batched_positions'].reshape(-1, 3)
    assert np.sort(axes, axis=0) == pytest.approx(
        np.sort([arm.p, arm.p + arm.R @ (0.2, 0.0, 0.0)], axis=0), abs=1e-5
    )


def test_the_world_moves_where_a_link_is_followed(scene):
    """Keep a followed link at the origin by moving the world."""
    world, _, client = scene
    ball = world.robots['ball']
    ball.set_base_pose((0.0, 1.0, 3.0))
    client.set('Follow', 'ball/ball')
    wait(
        scene,
        'the world to move',
        lambda: np.allclose(client.nodes['/world']['position'], (0.0, -1.0, -3.0)),
    )
    client.set('Follow', 'nothing')
    wait(scene, 'the world back', lambda: np.allclose(client.nodes['/world']['position'], 0.0))
