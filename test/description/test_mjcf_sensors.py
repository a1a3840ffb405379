"""Readings of MJCF sensors beside MuJoCo's after a step: joint laws soft for the step."""

import mujoco
import numpy as np
import pytest

import sim_bridge as sb

_ROBOT = """
<mujoco><compiler angle="radian"/>
  <option gravity="0.3 0 -9.8" magnetic="0.1 0.2 -0.4"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody><body name="base" pos="0 0 2">{base}<geom type="box" size="0.2 0.1 0.1"/>
    <site name="waist" pos="0.05 0.02 0.1" euler="0.3 -0.2 0.4"/>
    <body name="arm" pos="0 0 0.1">{shoulder}
      <geom type="capsule" fromto="0 0 0 0.5 0.1 0" size="0.05"/>
      <site name="wrist" pos="0.1 0 0.02" euler="0.1 0.2 0.3"/>
      <body name="hand" pos="0.5 0.1 0"><joint name="slide" type="slide" axis="0.6 0 0.8" {law}/>
        <geom type="box" size="0.05 0.1 0.02" pos="0.03 0.01 0.02"/>
        <site name="palm" pos="0.02 0.03 0.1" euler="0.5 0.2 0.1"/>
      </body></body></body></worldbody>
  {actuator}
  <sensor>{sensors}</sensor></mujoco>"""

_SENSORS = ''.join(
    f'<{kind} name="{site}_{kind}" site="{site}"/>'
    for site in ('waist', 'wrist', 'palm')
    for kind in ('force', 'torque', 'accelerometer', 'gyro', 'magnetometer')
    if site != 'waist' or kind not in ('force', 'torque')
)

_FRAMES = ''.join(
    f'<{kind} name="{body}_{kind}" objtype="xbody" objname="{body}"/>'
    for body in ('base', 'arm', 'hand')
    for kind in (
        'framepos',
        'framexaxis',
        'frameyaxis',
        'framezaxis',
        'framelinvel',
        'frameangvel',
    )
)

_HINGE = '<joint name="turn" axis="0 1 0.2" {law}/>'
_LAW = 'damping="0.7" stiffness="20" springref="0.2" armature="0.3"'
_MOTOR = """<actuator><motor joint="slide" gear="3" ctrlrange="-5 5"/>
  <motor joint="turn" gear="-2"/></actuator>"""
_CASES = {
    'bare': {'base': '', 'shoulder': _HINGE.format(law=''), 'law': '', 'actuator': ''},
    'passive': {'base': '', 'shoulder': _HINGE.format(law=_LAW), 'law': _LAW, 'actuator': ''},
    'driven': {'base': '', 'shoulder': _HINGE.format(law=_LAW), 'law': _LAW, 'actuator': _MOTOR},
    'floating': {
        'base': '<freejoint/>',
        'shoulder': _HINGE.format(law=''),
        'law': '',
        'actuator': '',
    },
}

_QUANTITIES = {
    'force': 'force',
    'torque': 'torque',
    'accelerometer': 'linear_acceleration',
    'gyro': 'angular_velocity',
    'magnetometer': 'magnetic_field',
}


@pytest.mark.parametrize('case', _CASES)
def test_readings_are_mujocos_at_the_instant_after_a_step(case):
    """Step by 5 ms; compare every reading with mj_forward at the new state, to 1e-9."""
    robot, model, data = _moved(case, _SENSORS)
    for k in range(model.nsensor):
        name = model.sensor(k).name
        site, kind = name.split('_')
        device = robot.device(site if kind in ('accelerometer', 'gyro') else name)
        np.testing.assert_allclose(
            device[_QUANTITIES[kind]], data.sensor(name).data, rtol=1e-9, atol=1e-9, err_msg=name
        )


@pytest.mark.parametrize('case', _CASES)
def test_links_have_the_values_of_mujocos_frame_sensors(case):
    """Compare poses and velocities of links with frame sensors after a step, to 1e-9."""
    robot, model, data = _moved(case, _FRAMES)
    for k in range(model.nsensor):
        name = model.sensor(k).name
        body, kind = name.split('_')
        link = robot.link(body)
        value = {
            'framepos': link.p,
            'framexaxis': link.R[:, 0],
            'frameyaxis': link.R[:, 1],
            'framezaxis': link.R[:, 2],
            'framelinvel': link.v,
            'frameangvel': link.w,
        }[kind]
        np.testing.assert_allclose(
            value, data.sensor(name).data, rtol=1e-9, atol=1e-9, err_msg=name
        )


def _moved(case, sensors):
    """Return a robot after 20 steps of 5 ms, with MuJoCo's model and data at the same state."""
    text = _ROBOT.format(**_CASES[case], sensors=sensors)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    world = sb.World(time_step=5e-3, gravity=(0.3, 0.0, -9.8))
    robot = world.load_urdf(text, position=(0.0, 0.0, 2.0))
    robot.joint('turn').q, robot.joint('slide').q = 0.4, -0.03
    robot.joint('turn').dq, robot.joint('slide').dq = 1.5, -0.7
    if model.nu:
        data.ctrl[:] = [2.0, -1.5]
        robot.controls = data.ctrl
    world.step(20)
    _copy_state(robot, data)
    mujoco.mj_forward(model, data)
    return robot, model, data


def _copy_state(robot, data):
    """Write a robot's joint and base coordinates to MuJoCo's data."""
    for name in ('turn', 'slide'):
        data.joint(name).qpos[0], data.joint(name).qvel[0] = (
            robot.joint(name).q,
            robot.joint(name).dq,
        )
    if len(data.qpos) > 2:
        base, quaternion = robot.link('base'), np.empty(4)
        mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(base.R).ravel())
        data.qpos[:7] = [*base.p, *quaternion]
        data.qvel[:6] = [*base.v, *(base.R.T @ base.w)]
