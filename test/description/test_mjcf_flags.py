"""MJCF flags for disabled physics, compared with MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import sim_bridge as sb

MODEL = """
<mujoco model="m">
  <option gravity="0 0 -9.81" density="20" viscosity="0.5" {group}>
    <flag {flags}/>
  </option>
  <worldbody>
    <body name="a" pos="0 0 1">
      <joint name="j" axis="0 1 0" stiffness="3" springref="20" damping="0.2" range="-170 170"/>
      <geom name="ga" type="capsule" size="0.05 0.2" pos="0.2 0 0"/>
      <body name="b" pos="0.4 0 0" gravcomp="1">
        <joint name="k" axis="0 1 0" damping="0.1"/>
        <geom name="gb" type="capsule" size="0.05 0.2" pos="0.2 0 0"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="m" joint="j" gear="2" ctrlrange="-1 1"/><motor name="n" joint="k" group="3"/>
  </actuator>
</mujoco>"""


@pytest.mark.parametrize(
    ('flags', 'group'),
    [
        ('energy="enable"', ''),
        ('spring="disable"', ''),
        ('damper="disable"', ''),
        ('spring="disable" damper="disable"', ''),
        ('actuation="disable"', ''),
        ('clampctrl="disable"', ''),
        ('constraint="disable"', ''),
        ('', 'actuatorgroupdisable="3"'),
    ],
)
def test_robots_accelerate_as_in_mujoco(flags, group):
    """Compare the velocity after a short step at a state with all passive and actuator forces."""
    text = MODEL.format(flags=flags, group=group)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = (0.5, -0.3), (0.7, -1.2), (4.0, 0.6)
    mujoco.mj_forward(model, data)
    step = 1e-6
    world = sb.World(time_step=step, gravity=(0.0, 0.0, -9.81))
    robot = world.load_urdf(text)
    for name, q, v in zip('jk', data.qpos, data.qvel, strict=True):
        robot.joint(name).q, robot.joint(name).dq = q, v
    for name, control in zip('mn', data.ctrl, strict=True):
        if name in robot.actuators:
            robot.actuators[name].control = control
    world.step()
    found = [(robot.joint(name).dq - v) / step for name, v in zip('jk', data.qvel, strict=True)]
    np.testing.assert_allclose(found, data.qacc, rtol=1e-3)


def test_disabled_constraints_are_left_out():
    """Leave out limits, friction, equalities and contacts, each by its flag."""
    text = MODEL.format(flags='{0}', group='').replace(
        'damping="0.1"', 'damping="0.1" frictionloss="0.3"'
    )
    lock = '<equality><joint joint1="k" polycoef="0.1 0 0 0 0"/></equality></mujoco>'
    text = text.replace('</mujoco>', lock)

    def parts(flags):
        """Return whether limits, friction, lock and collisions are there."""
        robot = sb.load_description(text.replace('{0}', flags))
        j, k = robot.joints['j'], robot.joints['k']
        return (
            np.isfinite(j.limits.upper),
            k.dynamics.friction > 0.0,
            k.limits.lower == k.limits.upper,
            bool(robot.links['a'].collisions),
        )

    assert parts('') == (True, True, True, True)
    assert parts('limit="disable"') == (False, True, True, True)
    assert parts('frictionloss="disable"') == (True, False, True, True)
    assert parts('equality="disable"') == (True, True, False, True)
    assert parts('contact="disable"') == (True, True, True, False)
    assert parts('constraint="disable"') == (False, False, False, False)


@pytest.mark.parametrize('state', ['enable', 'disable'])
def test_parents_touch_children_without_the_filter(state):
    """Compare the contacts of overlapping parent and child with MuJoCo's."""
    text = MODEL.format(flags=f'filterparent="{state}"', group='')
    apart = '<geom name="gb" type="capsule" size="0.05 0.2" pos="'
    text = text.replace(f'{apart}0.2 0 0', f'{apart}-0.2 0.05 0')
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    world.load_urdf(text)
    world.step()
    assert bool(world.contacts) is bool(data.ncon) is (state == 'disable')
