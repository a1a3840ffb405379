"""Inputs and outputs of OpenPLX scenes: signs, frames and efforts, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from transforms3d.euler import euler2mat

import sim_bridge as sb

STEP = 1e-3

# a bar on a hinge about y: its centre of mass lies 0.5 m from the pin
BAR = """
Bar is Physics3D.Bodies.RigidBody:
    inertia:
        mass: 2.0
        tensor: Physics3D.Bodies.Inertia.symmetric_tensor({0.1, 0.2, 0.3}, 0, 0, 0)
    kinematics.local_cm_transform.position.x: 0.5
    pin is Physics3D.Interactions.MateConnector:
        main_axis: Math.Vec3.Y_AXIS()
        normal: Math.Vec3.X_AXIS()
    tip is Physics3D.Interactions.MateConnector:
        position.x: 1.0
Scene is Physics3D.System:
    bar is Bar
    post is Physics3D.Interactions.MateConnector:
        main_axis: Math.Vec3.Y_AXIS()
        normal: Math.Vec3.X_AXIS()
    hinge is Physics3D.Interactions.Hinge:
        connectors: [CONNECTORS]
        force_output.enabled: true
"""
# about the pin [kg m²]
INERTIA = 0.2 + 2.0 * 0.5**2


def bar_scene(more: str = '', *, swapped: bool = False, gravity=(0.0, 0.0, 0.0)):
    """Return a world and the scene with a bar and further members."""
    world = sb.World(time_step=STEP, gravity=gravity)
    connectors = 'bar.pin, post' if swapped else 'post, bar.pin'
    text = BAR.replace('CONNECTORS', connectors)
    for line in more.strip('\n').splitlines():
        text += f'    {line}\n'
    return world, world.load_openplx(text.replace('PAIR', connectors))


@pytest.mark.parametrize('swapped', [False, True])
def test_motor_turns_the_second_connector_in_the_first(swapped):
    """Command a speed, and read angle, speed and torque with the connectors' sign."""
    world, scene = bar_scene(
        """
motor is Physics3D.Interactions.RotationalVelocityMotor:
    connectors: [PAIR]
    gain: 1E6
""",
        swapped=swapped,
    )
    scene.inputs['motor/target_angular_velocity_input'].set(0.8)
    world.step(1000)
    # a gain of 1e6 lags by I/gain only
    assert scene.outputs['hinge/angle_output'].read() == pytest.approx(0.8, abs=2e-3)
    assert scene.outputs['hinge/angular_velocity_output'].read() == pytest.approx(0.8, rel=1e-9)
    assert scene.outputs['motor/target_angular_velocity_output'].read() == 0.8
    turned = scene.link('bar').w[1]
    assert turned == pytest.approx(-0.8 if swapped else 0.8, rel=1e-9)


@pytest.mark.parametrize('swapped', [False, True])
def test_torque_accelerates_and_is_clamped(swapped):
    """Command a torque: alpha = tau / I; a torque above the motor's limit is clamped."""
    world, scene = bar_scene(
        """
motor is Physics3D.Interactions.TorqueMotor:
    connectors: [PAIR]
    min_effort: -2
    max_effort: 5
""",
        swapped=swapped,
    )
    torque = scene.inputs['motor/torque_input']
    for wanted, given in ((1.4, 1.4), (-100.0, -2.0), (100.0, 5.0)):
        before = scene.outputs['hinge/angular_velocity_output'].read()
        torque.set(wanted)
        world.step(10)
        gained = scene.outputs['hinge/angular_velocity_output'].read() - before
        assert gained == pytest.approx(given / INERTIA * 10 * STEP, rel=1e-9)
        assert scene.outputs['motor/torque_output'].read() == pytest.approx(given)


def test_ranges_of_efforts_bound_motors():
    """Pull with the effort allowed by the range, and read it back."""
    world, scene = bar_scene("""
motor is Physics3D.Interactions.RotationalVelocityMotor:
    connectors: [PAIR]
    target_speed: 100
""")
    scene.inputs['motor/torque_range_input'].set([-1.0, 3.5])
    world.step(20)
    np.testing.assert_array_equal(scene.outputs['motor/torque_range_output'].read(), [-1.0, 3.5])
    assert scene.outputs['motor/torque_output'].read() == pytest.approx(3.5)
    speed = scene.outputs['hinge/angular_velocity_output'].read()
    assert speed == pytest.approx(3.5 / INERTIA * 20 * STEP, rel=1e-9)


def test_spring_pulls_to_its_target():
    """Set a damped spring's rest position; its torque is -k (q - target) - c dq."""
    world, scene = bar_scene("""
spring is Physics3D.Interactions.TorsionSpring:
    connectors: [PAIR]
    flexibility.stiffness: 40
    dissipation becomes Physics.Interactions.Dissipation.MechanicalDamping:
        damping_constant: 12
""")
    scene.inputs['spring/target_angle_input'].set(0.3)
    outputs = scene.outputs
    world.step(40)
    angle, speed = (
        outputs[f'hinge/{name}_output'].read() for name in ('angle', 'angular_velocity')
    )
    assert outputs['spring/torque_output'].read() == pytest.approx(
        40.0 * (0.3 - angle) - 12.0 * speed
    )
    world.step(5000)
    assert outputs['hinge/angle_output'].read() == pytest.approx(0.3, abs=1e-6)
    assert outputs['spring/target_angle_output'].read() == pytest.approx(0.3)


@pytest.mark.parametrize('swapped', [False, True])
def test_mates_tell_the_force_on_the_first_connectors_body(swapped):
    """Hold the bar against its weight: the force on the bar points up, on the post down."""
    _, scene = bar_scene(
        """
lock is Physics3D.Interactions.RotationalRange:
    connectors: [PAIR]
    start: 0
    end: 0
""",
        swapped=swapped,
        gravity=(0.0, 0.0, -10.0),
    )
    force = scene.outputs['hinge/force_output'].read()
    np.testing.assert_allclose(force, [0.0, 0.0, 20.0 if swapped else -20.0], atol=1e-9)


def test_connectors_tell_their_motion_as_another_sees_it():
    """Compare velocity and acceleration with differences of positions, in a rotating frame."""
    world, scene = bar_scene(
        """
ball is Physics3D.Bodies.RigidBody:
    inertia.mass: 1.0
    kinematics:
        local_transform.position: {0.3, 0.4, 2.0}
        initial_local_linear_velocity: {0.5, -0.2, 0.1}
        initial_local_angular_velocity: {0.3, 2.0, -1.0}
    mark is Physics3D.Interactions.MateConnector:
        position: {0.2, -0.1, 0.3}
place is Physics3D.Signals.MateConnector.PositionOutput:
    source: ball.mark
    relative_to: bar.tip
speed is Physics3D.Signals.MateConnector.LinearVelocity3DOutput:
    source: ball.mark
    relative_to: bar.tip
gain is Physics3D.Signals.MateConnector.Acceleration3DOutput:
    source: ball.mark
    relative_to: bar.tip
turn is Physics3D.Signals.MateConnector.AngularVelocity3DOutput:
    source: ball.mark
    relative_to: bar.tip
attitude is Physics3D.Signals.MateConnector.RPYOutput:
    source: ball.mark
motor is Physics3D.Interactions.TorqueMotor:
    connectors: [PAIR]
    default_torque: 3.0
""",
        gravity=(0.0, 0.0, -9.8),
    )
    read = {name: [] for name in ('place', 'speed', 'gain')}
    for _ in range(41):
        for name, values in read.items():
            values.append(scene.outputs[name].read())
        world.step(5)
    place, speed, gain = map(np.array, read.values())
    span = 2 * 5 * STEP
    np.testing.assert_allclose(
        (place[2:] - place[:-2]) / span, speed[1:-1], atol=2e-3 * np.abs(speed).max()
    )
    np.testing.assert_allclose(
        (speed[2:] - speed[:-2]) / span, gain[1:-1], atol=5e-3 * np.abs(gain).max()
    )
    ball, bar = scene.link('ball'), scene.link('bar')
    # the normal of a connector along z is -x, unless it is given
    half_turn = np.diag([-1.0, -1.0, 1.0])
    np.testing.assert_allclose(
        euler2mat(*scene.outputs['attitude'].read()), ball.R @ half_turn, atol=1e-12
    )
    np.testing.assert_allclose(
        scene.outputs['turn'].read(), half_turn @ bar.R.T @ (ball.w - bar.w), atol=1e-12
    )


def test_velocities_are_set_for_free_bodies_only():
    """Set the velocity of a free body's centre of mass; held bodies have no such input."""
    world, scene = bar_scene("""
ball is Physics3D.Bodies.RigidBody:
    inertia.mass: 1.0
    kinematics.local_cm_transform.position: {0, 0.2, 0}
""")
    assert 'bar/linear_velocity_world_input' not in scene.inputs
    scene.inputs['ball/angular_velocity_world_input'].set([0.0, 0.0, 2.0])
    scene.inputs['ball/linear_velocity_world_input'].set([1.0, 0.0, -0.5])
    start = scene.link('ball').wc
    world.step(500)
    np.testing.assert_allclose(scene.link('ball').wc, start + [0.5, 0.0, -0.25], atol=1e-9)
    np.testing.assert_allclose(
        scene.outputs['ball/linear_velocity_world_output'].read(), [1.0, 0.0, -0.5], atol=1e-9
    )


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('motor/target_angular_velocity_input', float('nan')),
        ('motor/target_angular_velocity_input', 'fast'),
        ('motor/torque_range_input', [1.0, -1.0]),
        ('motor/torque_range_input', [0.0]),
        ('motor/torque_range_input', [float('nan'), 1.0]),
    ],
)
def test_wrong_values_are_refused_whole(name, value):
    """Name the input and the value, and leave the motor unchanged."""
    _, scene = bar_scene("""
motor is Physics3D.Interactions.RotationalVelocityMotor:
    connectors: [PAIR]
    target_speed: 0.25
""")
    with pytest.raises(sb.InvalidValueError, match=name):
        scene.inputs[name].set(value)
    assert scene.outputs['motor/target_angular_velocity_output'].read() == 0.25
    np.testing.assert_array_equal(
        scene.outputs['motor/torque_range_output'].read(), [-np.inf, np.inf]
    )


def test_interfaces_rename_and_enable():
    """Name signals by an interface; it enables its outputs."""
    _, scene = bar_scene("""
motor is Physics3D.Interactions.RotationalVelocityMotor:
    connectors: [PAIR]
io is Physics.Signals.SignalInterface:
    enable: true
    speed is Physics.Signals.AngularVelocity1DInput reference: motor.target_angular_velocity_input
    angle is Physics.Signals.AngleOutput reference: hinge.angle_output
""")
    assert 'io/speed' in scene.inputs
    assert 'motor/target_angular_velocity_input' not in scene.inputs
    assert scene.outputs['io/angle'].signal.enabled


def test_a_motor_holds_like_a_spring_at_rest():
    """Hold the position at zero target speed, and release it at another target."""
    world, scene = bar_scene(
        """
motor is Physics3D.Interactions.RotationalVelocityMotor:
    connectors: [PAIR]
    gain: 50
    target_speed: 0.5
    zero_speed_as_spring: true
    zero_speed_spring_flexibility.stiffness: 1E5
    zero_speed_spring_dissipation becomes Physics.Interactions.Dissipation.MechanicalDamping:
        damping_constant: 500
""",
        gravity=(0.0, 0.0, -10.0),
    )
    speed = scene.inputs['motor/target_angular_velocity_input']
    angle = scene.outputs['hinge/angle_output']
    world.step(400)
    speed.set(0.0)
    held = angle.read()
    world.step(1000)
    # the weight bends the spring by m g l / k, without the creep of a damper alone
    bent = 10.0 * np.cos(held) / 1e5
    assert angle.read() == pytest.approx(held + bent, abs=1e-6)
    speed.set(0.5)
    world.step(500)
    assert angle.read() > held + 0.2


def test_a_reset_undoes_all_inputs():
    """Restore speeds, limits, holding springs and spring rests from the file."""
    world, scene = bar_scene("""
motor is Physics3D.Interactions.RotationalVelocityMotor:
    connectors: [PAIR]
    target_speed: 0.5
    max_effort: 30
    zero_speed_as_spring: true
    zero_speed_spring_flexibility.stiffness: 1E5
spring is Physics3D.Interactions.TorsionSpring:
    connectors: [PAIR]
    flexibility.stiffness: 2
""")
    axis, _, _ = scene.axis('motor')
    kept = ('kp', 'kd', 'min_effort', 'max_effort', 'target_velocity', 'reference')
    before = {name: getattr(axis, name) for name in kept}
    scene.inputs['motor/target_angular_velocity_input'].set(0.0)
    scene.inputs['motor/torque_range_input'].set([-1.0, 2.0])
    scene.inputs['spring/target_angle_input'].set(0.4)
    assert {name for name in kept if getattr(axis, name) != before[name]} == set(kept)
    world.reset()
    assert {name: getattr(axis, name) for name in kept} == before


def test_motors_springs_and_ranges_are_disabled_and_enabled():
    """Move as without an interaction, and as before once it is enabled again."""
    world, scene = bar_scene("""
motor is Physics3D.Interactions.RotationalVelocityMotor:
    connectors: [PAIR]
    target_speed: 0.5
    gain: 20
    max_effort: 30
spring is Physics3D.Interactions.TorsionSpring:
    connectors: [PAIR]
    flexibility.stiffness: 2
    dissipation becomes Physics.Interactions.Dissipation.MechanicalDamping:
        damping_constant: 0.5
range is Physics3D.Interactions.RotationalRange:
    connectors: [PAIR]
    start: -0.1
    end: 0.1
""")
    axis, _, _ = scene.axis('motor')
    names = ('kp', 'kd', 'stiffness', 'damping', 'lower', 'upper')
    given = {name: getattr(axis, name) for name in names}
    nothing = dict(zip(names, (0.0, 0.0, 0.0, 0.0, -np.inf, np.inf), strict=True))
    enabled = {
        name: (
            scene.inputs[f'{name}/enable_interaction_input'],
            scene.outputs[f'{name}/interaction_enabled_output'],
        )
        for name in ('motor', 'spring', 'range')
    }
    for change, told in enabled.values():
        assert told.read() is True
        change.set(False)
        assert told.read() is False
    assert {name: getattr(axis, name) for name in names} == nothing
    # an input does not enable the motor, and acts once it is enabled
    scene.inputs['motor/target_angular_velocity_input'].set(0.25)
    before = world.save()
    world.step(100)
    assert axis.dq == 0.0
    for change, told in enabled.values():
        change.set(True)
        assert told.read() is True
    assert {name: getattr(axis, name) for name in names} == given
    world.step(2000)
    assert axis.q == pytest.approx(0.1, abs=1e-9)
    assert axis.target_velocity == 0.25
    world.restore(before)
    assert [told.read() for _, told in enabled.values()] == [False] * 3
    world.reset()
    assert [told.read() for _, told in enabled.values()] == [True] * 3
    assert {name: getattr(axis, name) for name in names} == given
    with pytest.raises(sb.InvalidValueError, match='enable_interaction_input'):
        enabled['motor'][0].set(2)


def test_a_force_motor_is_disabled():
    """Give no torque while disabled, under any command; refuse to disable one of two as one."""
    motor = """
NAME is Physics3D.Interactions.TorqueMotor:
    connectors: [PAIR]
    default_torque: 3
"""
    world, scene = bar_scene(motor.replace('NAME', 'motor'))
    axis, _, _ = scene.axis('motor')
    scene.inputs['motor/enable_interaction_input'].set(False)
    scene.inputs['motor/torque_input'].set(5.0)
    world.step(10)
    assert axis.dq == 0.0
    scene.inputs['motor/enable_interaction_input'].set(True)
    assert axis.u == 3.0
    _, scene = bar_scene(motor.replace('NAME', 'one') + motor.replace('NAME', 'two'))
    with pytest.raises(sb.StateError, match='together with others'):
        scene.inputs['one/enable_interaction_input'].set(False)
    # other motors of the scene stay usable
    _, scene = bar_scene("""
one is Physics3D.Interactions.TorsionSpring:
    connectors: [PAIR]
two is Physics3D.Interactions.TorsionSpring:
    connectors: [PAIR]
""")
    assert scene.outputs['hinge/angle_output'].read() == 0.0
    with pytest.raises(sb.StateError, match='several springs'):
        scene.inputs['one/target_angle_input'].set(1.0)


def test_a_mate_is_disabled_if_an_interface_names_its_input():
    """Release the bar, and hold it at its hinge again."""
    interface = """
io is Physics.Signals.SignalInterface:
    hold is Physics.Signals.EnableInteractionInput reference: hinge.enable_interaction_input
    held is Physics.Signals.InteractionEnabledOutput reference: hinge.interaction_enabled_output
"""
    world, scene = bar_scene(interface, gravity=(0.0, 0.0, -10.0))
    bar = scene.link('bar')
    place = bar.p.copy()
    scene.inputs['io/hold'].set(False)
    assert scene.outputs['io/held'].read() is False
    world.step(10)
    assert bar.v == pytest.approx([0.0, 0.0, -0.1], abs=1e-9)
    world.reset()
    assert scene.outputs['io/held'].read() is True
    assert bar.p == pytest.approx(place, abs=1e-12)
    # a tree hinge has no such input, and is enabled
    _, scene = bar_scene('')
    assert 'hinge/enable_interaction_input' not in scene.inputs
    assert scene.outputs['hinge/interaction_enabled_output'].read() is True


DISABLED = """
motor is Physics3D.Interactions.RotationalVelocityMotor:
    connectors: [PAIR]
    enabled: false
    target_speed: 0.5
    gain: 20
spring is Physics3D.Interactions.TorsionSpring:
    connectors: [PAIR]
    enabled: false
    flexibility.stiffness: 2
range is Physics3D.Interactions.RotationalRange:
    connectors: [PAIR]
    enabled: false
    start: 0.05
    end: 0.1
"""


def test_disabled_elements_of_a_file_are_enabled_later():
    """Do nothing at first and after a reset; act like an initially enabled one in between."""
    names = ('kp', 'kd', 'stiffness', 'damping', 'lower', 'upper')
    acting = ('motor', 'spring', 'range')
    world, scene = bar_scene(DISABLED)
    _, other = bar_scene(DISABLED.replace('false', 'true'))
    axis, like = scene.axis('motor')[0], other.axis('motor')[0]
    told = [scene.outputs[f'{name}/interaction_enabled_output'] for name in acting]
    for _ in range(2):
        world.step(10)
        assert (axis.q, axis.dq) == (0.0, 0.0)
        assert [each.read() for each in told] == [False] * 3
        for name in acting:
            scene.inputs[f'{name}/enable_interaction_input'].set(True)
        assert [each.read() for each in told] == [True] * 3
        given = [getattr(like, name) for name in names]
        assert [getattr(axis, name) for name in names] == given
        world.reset()


def test_a_disabled_torque_motor_is_enabled_later_unless_others_act():
    """Give its torque once enabled; refuse its inputs beside another motor."""
    motor = """
NAME is Physics3D.Interactions.TorqueMotor:
    connectors: [PAIR]
    default_torque: 3
"""
    off = motor.replace('NAME', 'off') + '    enabled: false'
    world, scene = bar_scene(off)
    world.step(5)
    assert scene.axis('off')[0].dq == 0.0
    scene.inputs['off/enable_interaction_input'].set(True)
    world.step(1)
    assert scene.axis('off')[0].dq == pytest.approx(3.0 * STEP / INERTIA, rel=1e-12)
    _, scene = bar_scene(motor.replace('NAME', 'on') + off)
    assert scene.axis('on')[0].u == 3.0
    assert scene.outputs['off/interaction_enabled_output'].read() is False
    assert scene.outputs['off/torque_output'].read() == 0.0
    with pytest.raises(sb.StateError, match='cannot be enabled'):
        scene.inputs['off/torque_input'].set(1.0)
    with pytest.raises(sb.StateError, match='together with others'):
        scene.inputs['off/enable_interaction_input'].set(True)


def test_a_disabled_mate_places_its_bodies_and_holds_once_enabled():
    """Place the body by SNAP, let it fall, and bring it back when the hinge is enabled."""
    world, scene = bar_scene('    enabled: false', gravity=(0.0, 0.0, -10.0))
    bar, hold = scene.link('bar'), scene.inputs['hinge/enable_interaction_input']
    assert not scene.description.report.findings
    assert pytest.approx(np.eye(3), abs=1e-12) == bar.R
    for _ in range(2):
        assert scene.outputs['hinge/interaction_enabled_output'].read() is False
        world.step(10)
        assert bar.v == pytest.approx([0.0, 0.0, -0.1], abs=1e-9)
        hold.set(True)
        world.step(200)
        assert bar.p == pytest.approx(np.zeros(3), abs=1e-6)
        world.reset()


def test_a_distance_is_set():
    """Keep another distance, rigid or as a spring, and the file's distance after a reset."""
    world = sb.World(time_step=STEP, gravity=(0.0, 0.0, -10.0))
    scene = world.load_openplx("""
Scene is Physics3D.System:
    bob is Physics3D.Bodies.RigidBody:
        inertia.mass: 2
        inertia.tensor: Math.Matrix3x3.diag(0.1, 0.1, 0.1)
        pin is Physics3D.Interactions.MateConnector
    top is Physics3D.Interactions.MateConnector:
        main_axis: -Math.Vec3.Z_AXIS()
    rope is Physics3D.Interactions.Distance:
        connectors: [top, bob.pin]
        initial_distance: 1.0
""")
    bob, target = scene.link('bob'), scene.inputs['rope/target_distance_input']
    world.step(10)
    assert bob.p == pytest.approx([0.0, 0.0, -1.0], abs=1e-9)
    target.set(1.25)
    assert scene.outputs['rope/target_distance_output'].read() == 1.25
    assert scene.outputs['rope/distance_output'].read() == pytest.approx(1.0, abs=1e-9)
    saved = world.save()
    world.step(10)
    assert scene.outputs['rope/distance_output'].read() == pytest.approx(1.25, abs=1e-9)
    twin = world.copy()
    twin.step(5), world.step(5)
    assert twin.state_hash() == world.state_hash()
    target.set(1.5)
    world.restore(saved)
    assert scene.outputs['rope/target_distance_output'].read() == 1.25
    world.reset()
    assert scene.outputs['rope/target_distance_output'].read() == 1.0
    world.step(10)
    assert bob.p == pytest.approx([0.0, 0.0, -1.0], abs=1e-9)
    with pytest.raises(sb.InvalidValueError, match='above 0'):
        target.set(0.0)


def test_signals_of_a_model_that_is_a_body_act_on_it():
    """Set the velocity of a root body, and read its motion and a connector's."""
    world = sb.World(time_step=STEP, gravity=(0.0, 0.0, 0.0))
    text = BAR.partition('Scene is')[0] + (
        '    tip_output is Physics3D.Signals.MateConnector.PositionOutput:\n        source: tip\n'
    )
    scene = world.load_openplx(text, 'Bar')
    scene.inputs['linear_velocity_world_input'].set((0.0, 2.0, 0.0))
    world.step(1000)
    np.testing.assert_allclose(scene.link('.').p, [0, 2, 0], atol=1e-12)
    np.testing.assert_allclose(
        scene.outputs['position_output'].read(), scene.link('.').p, atol=1e-12
    )
    np.testing.assert_allclose(scene.outputs['tip_output'].read(), [1, 2, 0], atol=1e-12)
