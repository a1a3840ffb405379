"""Rolling wheels creep in proportion to their tangential force and their rolling speed."""

from __future__ import annotations

import pytest

import sim_bridge as sb

N_WHEELS, RADIUS, G = 4, 0.1, 9.81
BODY, WHEEL = 8.0, 0.5
LOAD = (BODY + N_WHEELS * WHEEL) * G / N_WHEELS  # of each wheel [N]


def _link(name, mass, inertia, more=''):
    moments = ' '.join(f'i{axis}{axis}="{inertia}"' for axis in 'xyz')
    return (
        f'<link name="{name}"><inertial><mass value="{mass}"/>'
        f'<inertia {moments} ixy="0" ixz="0" iyz="0"/></inertial>{more}</link>'
    )


def _wheel(name, x, y, shape):
    more = (
        '<collision><origin rpy="1.5707963267948966 0 0"/>'
        f'<geometry>{shape}</geometry></collision>'
    )
    return (
        f'{_link(name, WHEEL, 0.0025, more)}<joint name="{name}" type="continuous">'
        f'<parent link="base"/><child link="{name}"/><origin xyz="{x} {y} 0"/>'
        '<axis xyz="0 1 0"/></joint>'
    )


def _slip(lateral, longitudinal):
    wheels = ''.join(
        f'<wheel link_name="{name}"><slip_compliance_lateral>{lateral}</slip_compliance_lateral>'
        f'<slip_compliance_longitudinal>{longitudinal}</slip_compliance_longitudinal>'
        f'<wheel_normal_force>{LOAD}</wheel_normal_force><wheel_radius>{RADIUS}</wheel_radius>'
        '</wheel>'
        for name in 'abcd'
    )
    plugin = f'<plugin name="p" filename="gz-sim-wheel-slip-system">{wheels}</plugin>'
    return f'<gazebo>{plugin}</gazebo>'


def cart(lateral, longitudinal, shape='<sphere radius="0.1"/>'):
    """Return a cart on four driven wheels, and its world."""
    places = (('a', 0.3, 0.2), ('b', 0.3, -0.2), ('c', -0.3, 0.2), ('d', -0.3, -0.2))
    parts = ''.join(_wheel(*place, shape) for place in places)
    text = f'<robot name="cart">{_link("base", BODY, 0.5)}{parts}{_slip(lateral, longitudinal)}'
    world = sb.World()
    world.add_ground()
    robot = world.load_urdf(f'{text}</robot>', position=(0.0, 0.0, RADIUS))
    return world, robot


def drive(world, robot, rate, force, seconds=2.0):
    """Turn the wheels, and push the cart at the height of the ground, so that loads stay equal."""
    for joint in robot.joints:
        joint.control, joint.target_velocity = 'velocity', rate
    for _ in range(round(seconds / world.time_step)):
        base = robot.root_link
        base.add_force(force, point=(*base.wc[:2], 0.0))
        world.step()


@pytest.mark.parametrize('rate', [5.0, -5.0])
@pytest.mark.parametrize(
    'shape', ['<sphere radius="0.1"/>', '<cylinder radius="0.1" length="0.04"/>']
)
def test_slip_ratio_is_compliance_times_force_ratio(rate, shape):
    """Fall behind the wheels' speed by the share compliance F / N, whatever the contact points."""
    world, robot = cart(0.0, 0.2, shape)
    push = -8.0
    drive(world, robot, rate, (push, 0.0, 0.0))
    # each wheel bears a quarter of the push, and of the load
    expected = rate * RADIUS + abs(rate) * RADIUS * 0.2 * push / (N_WHEELS * LOAD)
    assert robot.root_link.v[0] == pytest.approx(expected, rel=1e-6)
    assert robot.root_link.v[1] == pytest.approx(0.0, abs=1e-6)


def test_lateral_slip_lets_a_rolling_cart_drift():
    """Drift sideways at the share compliance F / N of the rolling speed; roll straight along."""
    world, robot = cart(0.3, 0.0)
    drive(world, robot, 5.0, (0.0, 6.0, 0.0))
    speed = 5.0 * RADIUS
    # the heading turns a little while the wheels start
    along, across, _ = robot.root_link.R.T @ robot.root_link.v
    assert along == pytest.approx(speed, rel=1e-6)
    assert across == pytest.approx(speed * 0.3 * 6.0 / (4 * LOAD), rel=1e-5)


def test_standing_wheels_hold_and_friction_bounds_the_force():
    """Stay on standing wheels; slide once the force exceeds the friction."""
    world, robot = cart(0.3, 0.3)
    drive(world, robot, 0.0, (6.0, 6.0, 0.0), 1.0)
    assert robot.root_link.p[:2] == pytest.approx([0.0, 0.0], abs=1e-9)
    drive(world, robot, 0.0, (0.0, 1.2 * 4 * LOAD, 0.0), 0.5)
    assert robot.root_link.v[1] == pytest.approx(0.5 * 0.2 * G, rel=1e-3)


def test_slip_belongs_to_shapes_and_snapshots():
    """Give the slip to a body's shape; restore and copy worlds with the same bits."""
    world, robot = cart(0.1, 0.2)
    drive(world, robot, 4.0, (-8.0, 3.0, 0.0), 0.2)
    saved, twin = world.save(), world.copy()
    drive(world, robot, 4.0, (-8.0, 3.0, 0.0), 0.2)
    drive(twin, twin.robots['cart'], 4.0, (-8.0, 3.0, 0.0), 0.2)
    assert twin.state_hash() == world.state_hash()
    end = robot.root_link.p.copy()
    world.restore(saved)
    drive(world, robot, 4.0, (-8.0, 3.0, 0.0), 0.2)
    assert (robot.root_link.p == end).all()
    with pytest.raises(sb.InvalidValueError, match='rolling_slip'):
        sb.Placed(sb.Sphere(0.1), rolling_slip=(-1.0, 0.0))


@pytest.mark.parametrize(
    ('old', 'new', 'code'),
    [
        ('link_name="a"', 'link_name="nothing"', 'unknown-link'),
        ('link_name="a"', 'link_name="base"', 'unknown-link'),
        ('<wheel_radius>0.1<', '<wheel_radius>0<', 'out-of-range'),
        ('_lateral>0.1<', '_lateral>-1<', 'out-of-range'),
    ],
)
def test_a_defective_plugin_is_left_out(old, new, code):
    """Warn with the tag, and keep the wheels as they are."""
    world, robot = cart(0.1, 0.2)
    text = robot.description.xml
    assert robot.description.report.findings == ()
    description = sb.load_description(text.replace(old, new, 1))
    (finding,) = description.report.findings
    assert (finding.code, finding.omits) == (code, 'wheel slip')
    assert description.links['b'].contact.rolling_slip == (0.0, 0.0)
