"""Gazebo's plugins for air, water and joints, read from URDF."""

from __future__ import annotations

from fluid_robots import boat, flight_plugin, plugin, quadrotor, rotor_plugin
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.description.plugin_inputs import CurrentInput, JointInput, RotorInput

THRUSTER = 'gz-sim-thruster-system'
POSITION = 'gz-sim-joint-position-controller-system'


def findings(description):
    return [(each.code, each.value, each.omits) for each in description.report.findings]


def test_rotors_are_read_with_gazebo_s_units_and_topic():
    """Give each rotor its field and its place in the message; nothing is reported."""
    description = sb.load_description(quadrotor())
    assert findings(description) == []
    names = [each.name for each in description.force_fields]
    assert names == [f'rotor_rotor_{k}' for k in range(4)]
    third = description.force_fields[2]
    assert third.links == ('rotor_2_link',)
    assert third.field == sb.Rotor(
        'rotor_2', True, 8.54858e-06, 0.016, 8.06428e-05, 1e-06, 10.0, 0.0125, 0.025
    )
    command = description.inputs[2]
    assert isinstance(command, RotorInput)
    assert (command.topic, command.number) == ('X3/gazebo/command/motor_speed', 2)
    assert (command.factor, command.limit) == (-0.1, 800.0)


@pytest.mark.parametrize(
    ('tags', 'code'),
    [
        ({'jointName': 'rotor_9'}, 'unknown-joint'),
        ({'linkName': 'nothing'}, 'unknown-link'),
        ({'motorType': 'position'}, 'not-simulated'),
        ({'timeConstantUp': '-1'}, 'out-of-range'),
        ({'rotorVelocitySlowdownSim': 'x'}, 'not-a-number'),
    ],
)
def test_a_defective_rotor_is_left_out_and_the_robot_flies_on(tags, code):
    """Warn with the tag, and keep the other rotors."""
    text = quadrotor().replace('</robot>', rotor_plugin(0, **tags) + '</robot>')
    description = sb.load_description(text)
    (found,) = findings(description)
    assert found[2] == 'rotor' and len(description.force_fields) == 4
    assert found[0] == code
    with pytest.raises(sb.DescriptionError):
        sb.load_description(text, strict=True)


def test_motors_of_gazebo_classic_are_the_same():
    """Read RotorS' plugin, whose tag for the number is motorNumber."""
    text = boat(
        rotor_plugin(
            0, 'librotors_gazebo_motor_model.so', jointName='propeller', linkName='propeller_link'
        ).replace('actuator_number', 'motorNumber')
    )
    (field,) = sb.load_description(text).force_fields
    assert isinstance(field.field, sb.Rotor) and field.field.slowdown == 10.0


def test_thrusters_take_thrusts_or_speeds_on_gazebo_s_topics():
    """Name topics by namespace and joint, or by the tag; the controller's gain gives the lag."""
    text = boat(
        plugin(THRUSTER, joint_name='propeller', namespace='tethys', thrust_coefficient=0.004),
        plugin(
            THRUSTER,
            joint_name='propeller',
            topic='go',
            use_angvel_cmd='true',
            alpha_1=0.1,
            alpha_2=-0.2,
            velocity_control='true',
            max_thrust_cmd=30,
            min_thrust_cmd=-10,
        ),
    )
    description = sb.load_description(text)
    assert findings(description) == []
    force, speed = description.inputs
    assert force.topic == 'model/tethys/joint/propeller/cmd_thrust'
    assert force.feedback_topic == 'model/tethys/joint/propeller/ang_vel'
    assert (speed.topic, speed.feedback_topic) == ('boat/go', 'boat/go/force')
    assert (speed.lower, speed.upper) == (-10.0, 30.0)
    first, second = (each.field for each in description.force_fields)
    assert first == sb.Thruster('propeller', 0.004, 1000.0, 0.02, 0.0, 0.2, 1e-5 / 0.1)
    assert second == sb.Thruster('propeller', 0.1, 1000.0, 0.02, -0.2, 0.2, 0.0)


def test_hulls_read_stability_derivatives_with_their_opposite_sign():
    """Sort added mass, linear, quadratic and mixed terms into their arrays."""
    text = boat(
        plugin(
            'gz-sim-hydrodynamics-system',
            link_name='base',
            xDotU=-4,
            yDotR=0.5,
            nDotV=0.5,
            yDotV=-9,
            nDotR=-3,
            xU=-1.5,
            nRabsR=-600,
            mUW=0.2,
            default_current='0.3 0 0',
            namespace='tethys',
            disable_coriolis='true',
        )
    )
    description = sb.load_description(text)
    assert findings(description) == []
    hull = description.force_fields[0].field
    added = np.zeros((6, 6))
    added[[0, 1, 5], [0, 1, 5]] = 4.0, 9.0, 3.0
    added[1, 5] = added[5, 1] = -0.5
    assert np.array_equal(hull.added_inertia, added)
    assert hull.linear_damping[0][0] == 1.5
    assert (hull.quadratic_damping[5][5][5], hull.mixed_damping[4][0][2]) == (600.0, -0.2)
    assert (hull.current, hull.coriolis) == ((0.3, 0.0, 0.0), False)
    (current,) = description.inputs
    assert isinstance(current, CurrentInput)
    assert current.topic == 'model/tethys/ocean_current'
    # positive derivatives would take mass away
    bad = sb.load_description(
        boat(plugin('gz-sim-hydrodynamics-system', link_name='base', xDotU=4))
    )
    assert [each[2] for each in findings(bad)] == ['hull'] and not bad.force_fields


def test_wings_and_water_of_both_generations_are_read():
    """Use each generation's defaults, and the named links."""
    graded = (
        '<default_density>1025</default_density><density_change><above_depth>0.5</above_depth>'
        '<density>1.2</density></density_change>'
    )
    text = boat(
        plugin(
            'gz-sim-lift-drag-system', link_name='base', cla=4.5, forward='2 0 0', cp='0 0.1 0'
        ),
        plugin('libLiftDragPlugin.so', link_name='boat::base', control_joint_name='propeller'),
        plugin('gz-sim-buoyancy-system', graded_buoyancy=graded, enable='boat::base'),
        plugin('gz-sim-buoyancy-system', uniform_fluid_density=900),
        '<gazebo><plugin filename="libBuoyancyPlugin.so" name="b"><fluid_density>1000'
        '</fluid_density><link name="base"><volume>0.02</volume><center_of_volume>0 0 0.1'
        '</center_of_volume></link></plugin></gazebo>',
    )
    description = sb.load_description(text)
    assert findings(description) == []
    fields = [(each.field, each.links) for each in description.force_fields]
    assert fields == [
        (sb.LiftDrag(cla=4.5, forward=(2, 0, 0), cp=(0, 0.1, 0)), ('base',)),
        (sb.LiftDrag(cma=0.01, joint='propeller'), ('base',)),
        (sb.Buoyancy(1025.0, [(0.5, 1.2)]), ('base',)),
        (sb.Buoyancy(900.0), ()),
        (sb.Buoyancy(1000.0, (), 0.02, (0.0, 0.0, 0.1)), ('base',)),
        (sb.Buoyancy(1000.0), ('propeller_link',)),
    ]


def test_joint_controllers_follow_positions_and_velocities():
    """Let joints follow as servos with the plugin's gains, exactly, or with a velocity."""
    text = boat(
        plugin(POSITION, joint_name='propeller', p_gain=20, d_gain=2, initial_position=0.3),
        plugin(POSITION, joint_name='propeller', use_velocity_commands='true', topic='/fin'),
        plugin('gz-sim-joint-controller-system', joint_name='propeller', initial_velocity=2),
        plugin('gz-sim-joint-controller-system', joint_name='wheel'),
    )
    description = sb.load_description(text)
    assert description.inputs == (
        JointInput(
            'model/boat/joint/propeller/_0/cmd_pos',
            ('propeller',),
            'position',
            (20.0, 2.0),
            0.3,
            1,
        ),
        JointInput('fin', ('propeller',), 'position', None, 0.0, 1),
        JointInput('model/boat/joint/propeller/cmd_vel', ('propeller',), 'velocity', None, 2.0, 1),
    )
    assert [each[::2] for each in findings(description)] == [
        ('topic-name', ''),
        ('unknown-joint', 'controller'),
    ]
    robot = sb.World().load_urdf(text)
    joint = robot.joint('propeller')
    assert (joint.control, joint.target_velocity) == ('velocity', 2.0)


AIRCRAFT = 'gz-sim-advanced-lift-drag-system'


def test_aircraft_are_read_with_gazebo_s_coefficients():
    """Sort the derivatives into their rows; control surfaces turn per radian."""
    surface = (
        '<name>propeller</name><index>0</index><direction>-1</direction><CD_ctrl>0.1</CD_ctrl>'
        '<CY_ctrl>0</CY_ctrl><CL_ctrl>0.2</CL_ctrl><Cell_ctrl>0</Cell_ctrl>'
        '<Cem_ctrl>-0.3</Cem_ctrl><Cen_ctrl>0</Cen_ctrl>'
    )
    tags = {
        'link_name': 'base',
        'CL0': 0.15,
        'CD0': 0.03,
        'CLa': 5.0,
        'CYb': -0.26,
        'Cellp': -0.4,
        'Cemq': -12.0,
        'Cenr': -0.1,
        'alpha_stall': 0.34,
        'Cema_stall': -0.38,
        'AR': 6.5,
        'eff': 0.97,
        'mac': 0.22,
        'area': 0.34,
        'air_density': 1.2,
        'num_ctrl_surfaces': 1,
        'control_surface': surface,
    }
    description = sb.load_description(boat(plugin(AIRCRAFT, **tags)))
    assert findings(description) == []
    (found,) = description.force_fields
    wing = found.field
    table = np.zeros((6, 6))
    table[0, 0], table[1, 2], table[2, :2] = 0.03, -0.26, (0.15, 5.0)
    table[3, 3], table[4, 4], table[5, 5] = -0.4, -12.0, -0.1
    assert np.array_equal(wing.derivatives, table)
    assert wing.joints == ('propeller',)
    degree = np.pi / 180.0
    assert np.array(wing.controls) * degree == pytest.approx(
        np.array([[-0.1, 0.0, -0.2, 0.0, 0.3, 0.0]])
    )
    assert (wing.alpha_stall, wing.pitch_stall, wing.chord) == (0.34, -0.38, 0.22)
    assert (wing.area, wing.aspect_ratio, wing.efficiency) == (0.34, 6.5, 0.97)
    for wrong, code in (
        ({'AR': 0}, 'out-of-range'),
        ({'link_name': 'nose'}, 'unknown-link'),
        ({'num_ctrl_surfaces': 2}, 'bad-value'),
    ):
        assert code in [
            each[0]
            for each in findings(sb.load_description(boat(plugin(AIRCRAFT, **tags | wrong))))
        ]


def test_bladders_and_wind_are_read_with_gazebo_s_topics():
    """Use the defaults and units of BuoyancyEngine and WindEffects; links enable wind."""
    sine = '<sin><amplitude>60</amplitude><period>20</period></sin>'
    text = boat(
        plugin(
            'gz-sim-buoyancy-engine-system',
            link_name='base',
            namespace='glider',
            neutral_volume=0.002,
            max_volume=0.003,
            default_volume=0.001,
            surface=0,
        ),
        plugin(
            'gz-sim-wind-effects-system',
            horizontal='<magnitude><time_for_rise>10</time_for_rise><sin>'
            '<amplitude_percent>0.05</amplitude_percent><period>60</period></sin></magnitude>'
            f'<direction><time_for_rise>30</time_for_rise>{sine}</direction>',
            force_approximation_scaling_factor=0.3,
        ),
        '<gazebo><enable_wind>true</enable_wind></gazebo>',
        '<gazebo reference="propeller_link"><enable_wind>false</enable_wind></gazebo>',
    )
    description = sb.load_description(text)
    assert findings(description) == []
    bladder, wind = description.inputs
    assert bladder.topic == 'model/glider/buoyancy_engine'
    assert bladder.state_topic == 'model/glider/buoyancy_engine/current_volume'
    assert (bladder.lower, bladder.upper) == (3e-5, 0.003)
    assert (wind.topic, wind.state_topic) == ('world/default/wind', 'world/default/wind_info')
    engine, air = (each.field for each in description.force_fields)
    assert engine == sb.BuoyancyEngine(1000.0, 0.002, 0.001, 0.001, 3e-6, surface=0.0)
    assert air == sb.Wind(
        rate=0.3,
        rise_time=10.0,
        turn_time=30.0,
        vertical_rise_time=1.0,
        gust=0.05,
        gust_period=60.0,
        swing=np.pi / 3.0,
        swing_period=20.0,
    )
    assert {name: link.enable_wind for name, link in description.links.items()} == {
        'base': True,
        'propeller_link': False,
    }
    # one world has one wind
    world = sb.World()
    robots = [world.load_urdf(text) for _ in range(2)]
    assert [name for name in world.force_fields if 'wind' in name] == [
        f'{robots[0].name}/wind_wind'
    ]


@pytest.mark.parametrize(
    ('path', 'points', 'origin'),
    [
        ({'waypoints': '<waypoint>25 1</waypoint><waypoint>0 2</waypoint>'}, 2, 'world'),
        ({'circle': '<radius>2</radius>'}, 8, 'position'),
        ({'line': '<direction>0.5</direction><length>5</length>'}, 2, 'pose'),
    ],
)
def test_paths_are_read_with_gazebo_s_defaults(path, points, origin):
    """Have the points of waypoints, circle or line, pushed at the mass centre."""
    file = 'gz-sim-trajectory-follower-system'
    description = sb.load_description(boat(plugin(file, link_name='base', loop='true', **path)))
    assert findings(description) == []
    (entry,) = description.inputs
    assert (len(entry.waypoints), entry.origin, entry.loops) == (points, origin, True)
    assert (entry.topic, entry.link) == ('model/boat/trajectory_follower/pause', 'base')
    assert (entry.force, entry.torque, entry.tolerance) == (60.0, 50.0, 0.5)
    assert entry.bearing_tolerance == pytest.approx(np.pi / 90.0)
    assert description.force_fields[0].field.is_local
    missing = sb.load_description(boat(plugin(file, link_name='base')))
    assert [each[::2] for each in findings(missing)] == [('missing-tag', 'path')]


def test_plugins_with_similar_names_are_reported():
    """Do not take spacecraft thrusters for others."""
    names = ('spacecraft-thruster-model',)
    text = boat(*(plugin(f'gz-sim-{name}-system') for name in names))
    description = sb.load_description(text)
    assert not description.force_fields
    assert [each[1] for each in findings(description)] == [
        f'gz-sim-{name}-system' for name in names
    ]


def test_robots_bring_their_fields_and_take_them_along():
    """Add the fields under the robot's name, for copies too, and remove them with the robot."""
    world = sb.World()
    first = world.load_urdf(quadrotor(), 'a')
    world.add_force_field(sb.Drag(0.1), 'air')
    second = world.add_copy(first, 'b')
    assert len(world.force_fields) == 9
    assert 'b/rotor_rotor_3' in world.force_fields
    world.remove(second)
    assert [name for name in world.force_fields if name.startswith('b/')] == []
    world.remove(first)
    assert list(world.force_fields) == ['air']


def test_a_defective_battery_is_left_out():
    """Warn about missing tags, and about a load on an unknown battery."""
    text = boat(
        plugin('gz-sim-linearbatteryplugin-system', battery_name='pack', capacity=1),
        plugin(THRUSTER, joint_name='propeller', power_load=7, battery_name='tank'),
    )
    description = sb.load_description(text)
    assert {each[::2] for each in findings(description)} == {
        ('missing-tag', 'battery'),
        ('unknown-battery', ''),
    }
    assert not description.batteries and len(description.force_fields) == 1


def test_velocity_control_needs_gains_four_rotors_and_their_plugins():
    """Leave out the control with the missing part's name; the rotors stay."""
    good = quadrotor().replace('</robot>', flight_plugin() + '</robot>')
    description = sb.load_description(good)
    assert findings(description) == []
    flight = description.inputs[-1]
    assert (flight.topic, flight.enable_topic) == ('X3/cmd_vel', 'X3/enable')
    assert [rotor.direction for rotor in flight.rotors] == [1, 1, -1, -1]
    for wrong, code in (
        (good.replace('attitudeGain', 'attitude'), 'missing-tag'),
        (good.replace('<jointName>rotor_3</jointName><force', '<force'), 'missing-tag'),
        (good.replace('<comLinkName>base', '<comLinkName>none'), 'unknown-link'),
        (boat(flight_plugin().replace('rotor_', 'propeller_')), 'unknown-joint'),
    ):
        found = findings(sb.load_description(wrong))
        assert (code, 'velocity control') in [each[::2] for each in found]
    alone = boat(*[flight_plugin().replace(f'rotor_{k}', 'propeller') for k in range(1)])
    for k in range(4):
        alone = alone.replace(f'rotor_{k}', 'propeller')
    found = findings(sb.load_description(alone))
    assert [each[0] for each in found] == ['not-simulated']
