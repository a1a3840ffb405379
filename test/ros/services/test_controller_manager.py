"""The controller manager's services: spawners and switches, on the graph and without it."""

from __future__ import annotations

from bags import start_recording
from controlled_arm import controlled_arm
from following import simulator
import pytest
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.serialization import serialize_message
from std_msgs.msg import Float64MultiArray

from sim_bridge.foundation.errors import InvalidValueError, StateError, UnknownNameError
from sim_bridge.ros.bag.replay import replay
from sim_bridge.ros.command.controller_states import ACTIVE, INACTIVE, Strictness, UNLOADED
from sim_bridge.ros.services.standard.interfaces import names_of

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

ARM, FORWARD = 'panda_arm_controller', 'arm_forward'
STRICT, BEST_EFFORT, FORCE = Strictness.STRICT, Strictness.BEST_EFFORT, Strictness.FORCE_AUTO


@pytest.fixture
def made(tmp_path):
    """Return a simulator with the robot."""
    return simulator(robot=controlled_arm(tmp_path), rate=500.0)


def states(made):
    return made.interfaces[0].states


def use(made):
    made.use_controllers(made.interfaces[0].robot.name, states(made).stages)


def send(made, *values):
    """Send positions for the arm to the forward controller; return the refusal."""
    (interface,) = made.interfaces
    interface.commands.queue.refusal = ''
    (take,) = [t.take for t in interface.command_topics if t.name == f'{FORWARD}/commands']
    take(serialize_message(Float64MultiArray(data=values)))
    return interface.commands.queue.refusal


def spawn(made, name):
    """Configure and activate a controller, as a spawner does for a loaded one."""
    states(made).configure(name)
    states(made).switch([name], [], STRICT)
    use(made)


def test_a_spawned_controller_takes_the_joints_of_one_that_nobody_asked_for(made):
    """Activate the second controller of the arm: it moves the joints, the first is inactive."""
    assert 'is inactive' in send(made, 0.2, 0.1)
    spawn(made, FORWARD)
    assert (states(made).stage_of(ARM), states(made).stage_of(FORWARD)) == (INACTIVE, ACTIVE)
    assert not send(made, 0.2, 0.1)
    for _ in range(300):
        made.tick()
    assert list(made.interfaces[0].robot.q[:2]) == pytest.approx([0.2, 0.1], abs=1e-6)


def test_two_wanted_controllers_cannot_claim_one_interface(made):
    """Refuse the second by name of claims; switch both at once, or by force."""
    spawn(made, ARM)
    states(made).configure(FORWARD)
    before = states(made).stages
    with pytest.raises(StateError, match=f"'{ARM}' has claimed shoulder/position, elbow/position"):
        states(made).switch([FORWARD], [], STRICT)
    with pytest.raises(StateError):
        states(made).switch([FORWARD], [], BEST_EFFORT)
    assert states(made).stages == before
    states(made).switch([FORWARD], [ARM], STRICT)
    assert (states(made).stage_of(ARM), states(made).stage_of(FORWARD)) == (INACTIVE, ACTIVE)
    states(made).switch([ARM], [], FORCE)
    assert (states(made).stage_of(ARM), states(made).stage_of(FORWARD)) == (ACTIVE, INACTIVE)


def test_strictness(made):
    """Fail as a whole when strict; leave out the impossible parts otherwise."""
    spawn(made, ARM)
    for activate, deactivate, error in (
        (['nobody'], [], UnknownNameError),
        ([ARM], [], StateError),
        (['turn'], [FORWARD, 'nobody'], UnknownNameError),
    ):
        with pytest.raises(error):
            states(made).switch(activate, deactivate, STRICT)
    told = states(made).switch([ARM, 'nobody'], [FORWARD], BEST_EFFORT)
    assert "'nobody'" in told
    assert states(made).stage_of(ARM) == ACTIVE


def test_the_life_of_a_controller(made):
    """Unload, load and configure in order; refuse the other orders."""
    spawn(made, 'turn')
    life = states(made)
    for act in (life.unload, life.load, life.configure, life.cleanup):
        with pytest.raises(StateError, match="'turn'.*is active"):
            act('turn')
    life.switch([], ['turn'], STRICT)
    life.unload('turn')
    assert 'turn' not in life.loaded()
    with pytest.raises(StateError, match='is unloaded'):
        life.configure('turn')
    with pytest.raises(StateError, match='is unloaded'):
        life.switch(['turn'], [], STRICT)
    life.load('turn')
    life.configure('turn')
    life.switch(['turn'], [], STRICT)
    with pytest.raises(UnknownNameError, match='nobody'):
        life.load('nobody')
    with pytest.raises(InvalidValueError, match='unconfigured'):
        life.set_stages({'turn': 'asleep'})


def test_a_deactivated_controller_stops_its_joints(made):
    """Stop a forwarded velocity, and keep the position of the arm's joints."""
    (interface,) = made.interfaces
    (take,) = [t.take for t in interface.command_topics if t.name == 'turn/commands']
    take(serialize_message(Float64MultiArray(data=[0.5])))
    for _ in range(50):
        made.tick()
    states(made).switch([], ['turn', ARM], STRICT)
    use(made)
    for _ in range(50):
        made.tick()
    assert interface.robot.joint('turret').dq == pytest.approx(0.0, abs=1e-9)
    assert list(interface.robot.q[:2]) == pytest.approx([0.0, 0.0], abs=1e-9)


def test_a_snapshot_contains_the_active_controllers(made):
    """Return to the controllers and control modes of the snapshot."""
    made.tick()
    snapshot = made.save()
    spawn(made, FORWARD)
    made.restore(snapshot, clock=False)
    assert states(made).is_active(ARM) and not states(made).is_active(FORWARD)


def test_a_switch_is_replayed(tmp_path):
    """Record a switch between two controllers of the arm, and replay it."""
    robot = controlled_arm(tmp_path)
    offline = start_recording(tmp_path / 'bag', robot=robot, rate=500.0, record_hash_period=0.05)
    made = offline.simulator
    spawn(made, FORWARD)
    assert not send(made, 0.2, 0.1)
    for _ in range(200):
        made.tick()
    offline.recording.close()
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference
    assert verdict.hashes


def test_nothing_is_loaded_without_a_spawner_on_demand(tmp_path):
    """Load no controller with start_controllers set to false."""
    made = simulator(robot=controlled_arm(tmp_path), start_controllers=False)
    assert set(states(made).stages.values()) == {UNLOADED}
    assert 'is unloaded' in send(made, 0.1, 0.1)


def test_the_calls_of_a_spawner_work(graph, start_node, tmp_path):
    """Make a spawner's calls in its order, and read the states as MoveIt does."""
    from controller_manager_msgs.msg import ControllerManagerActivity
    from controller_manager_msgs.srv import (
        ConfigureController,
        ListControllers,
        ListControllerTypes,
        ListHardwareComponents,
        ListHardwareInterfaces,
        LoadController,
        ReloadControllerLibraries,
        SetHardwareComponentState,
        SwitchController,
        UnloadController,
    )
    from rclpy.qos import DurabilityPolicy, QoSProfile

    path = tmp_path / 'robot.urdf'
    controlled_arm(tmp_path)
    hardware = (
        '<ros2_control name="bench" type="system">'
        '<hardware><plugin>gz_ros2_control/GazeboSimSystem</plugin></hardware>'
        '<joint name="elbow"><command_interface name="position"/>'
        '<state_interface name="position"/></joint></ros2_control></robot>'
    )
    path.write_text(path.read_text().replace('</robot>', hardware))
    start_node(robot=path)

    def call(kind, service, /, **fields):
        name = service if service.startswith('/') else f'/controller_manager/{service}'
        client = graph.node.create_client(kind, name)
        graph.wait(client.service_is_ready, f'service {service}')
        future = client.call_async(kind.Request(**fields))
        graph.wait(future.done, f'a response of {service}')
        return future.result()

    def listed():
        return {each.name: each for each in call(ListControllers, 'list_controllers').controller}

    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    activity = graph.listen(ControllerManagerActivity, '/controller_manager/activity', latched)
    found = listed()
    assert found[ARM].state == 'active' and found[FORWARD].state == 'inactive'
    assert list(found[ARM].claimed_interfaces) == ['shoulder/position', 'elbow/position']
    assert list(found[FORWARD].claimed_interfaces) == []
    assert found['joint_state_broadcaster'].state == 'active'
    assert found[ARM].type == 'joint_trajectory_controller/JointTrajectoryController'

    kind = ParameterValue(
        type=ParameterType.PARAMETER_STRING,
        string_value='forward_command_controller/ForwardCommandController',
    )
    given = [Parameter(name=f'{FORWARD}.type', value=kind)]
    (result,) = call(SetParameters, 'set_parameters', parameters=given).results
    assert result.successful
    names = call(ListParameters, 'list_parameters').result.names
    assert {f'{ARM}.type', f'{FORWARD}.type'} <= set(names)
    (value,) = call(GetParameters, 'get_parameters', names=[f'{ARM}.type']).values
    assert value.string_value == 'joint_trajectory_controller/JointTrajectoryController'
    nodes = {f'/{name}' for name in graph.node.get_node_names()}
    assert {'/controller_manager', f'/{ARM}', f'/{FORWARD}'} <= nodes
    (value,) = call(GetParameters, f'/{ARM}/get_parameters', names=['joints']).values
    assert list(value.string_array_value) == ['shoulder', 'elbow']
    given = [Parameter(name='joints', value=value)]
    (result,) = call(SetParameters, f'/{ARM}/set_parameters', parameters=given).results
    assert not result.successful and 'read-only' in result.reason
    given = [Parameter(name='nobody.type', value=kind)]
    (result,) = call(SetParameters, 'set_parameters', parameters=given).results
    assert not result.successful and FORWARD in result.reason
    assert call(LoadController, 'load_controller', name=FORWARD).ok
    assert listed()[FORWARD].state == 'unconfigured'
    assert not call(LoadController, 'load_controller', name='nobody').ok
    assert call(ConfigureController, 'configure_controller', name=FORWARD).ok
    switch = SwitchController.Request
    told = call(
        SwitchController,
        'switch_controller',
        activate_controllers=[FORWARD],
        strictness=switch.STRICT,
    )
    assert told.ok, told.message
    assert listed()[ARM].state == 'inactive'
    told = call(
        SwitchController, 'switch_controller', activate_controllers=[ARM], strictness=switch.STRICT
    )
    assert not told.ok and FORWARD in told.message
    assert not call(UnloadController, 'unload_controller', name=FORWARD).ok
    assert call(UnloadController, 'unload_controller', name=ARM).ok
    assert ARM not in listed()
    assert not call(ReloadControllerLibraries, 'reload_controller_libraries').ok
    types = call(ListControllerTypes, 'list_controller_types')
    assert 'pid_controller/PidController' in types.types
    assert len(types.types) == len(types.base_classes)
    (component,) = call(ListHardwareComponents, 'list_hardware_components').component
    assert (component.name, component.state.label) == ('bench', 'active')
    interfaces = call(ListHardwareInterfaces, 'list_hardware_interfaces')
    assert [(each.name, each.is_claimed) for each in interfaces.command_interfaces] == [
        ('elbow/position', True)
    ]
    target = SetHardwareComponentState.Request().target_state
    target.label = 'active'
    name = 'set_hardware_component_state'
    assert call(SetHardwareComponentState, name, name='bench', target_state=target).ok
    target.label = 'inactive'
    assert not call(SetHardwareComponentState, name, name='bench', target_state=target).ok
    graph.wait(
        lambda: activity and FORWARD in [each.name for each in activity[-1].controllers],
        'the activity',
    )


def test_a_robot_spawned_at_run_time_brings_its_manager(graph, start_node, tmp_path):
    """Offer the services below the spawned robot's namespace, and take them with the robot."""
    from controller_manager_msgs.srv import ListControllers, SwitchController
    from simulation_interfaces.srv import DeleteEntity, SpawnEntity

    def call(kind, name, /, **fields):
        client = graph.node.create_client(kind, name)
        graph.wait(client.service_is_ready, f'service {name}')
        future = client.call_async(kind.Request(**fields))
        graph.wait(future.done, f'a response of {name}')
        return future.result()

    path = controlled_arm(tmp_path)
    start_node(robot='pendulum', diagnostics_rate=0.0)
    spawned = call(
        SpawnEntity,
        names_of('SpawnEntity')[1].replace('~', '/sim_bridge'),
        name='second',
        uri=path,
        entity_namespace='second',
    )
    assert spawned.result.result == 1, spawned.result.error_message
    root = '/second/controller_manager'
    found = {
        each.name: each.state
        for each in call(ListControllers, f'{root}/list_controllers').controller
    }
    assert (found[ARM], found[FORWARD]) == ('active', 'inactive')
    told = call(
        SwitchController,
        f'{root}/switch_controller',
        activate_controllers=[FORWARD],
        deactivate_controllers=[ARM],
        strictness=SwitchController.Request.STRICT,
    )
    assert told.ok, told.message
    left = graph.node.create_client(ListControllers, f'{root}/list_controllers')
    graph.wait(left.service_is_ready, 'the services once more')
    gone = call(
        DeleteEntity, names_of('DeleteEntity')[1].replace('~', '/sim_bridge'), entity='second'
    )
    assert gone.result.result == 1, gone.result.error_message
    graph.wait(lambda: not left.service_is_ready(), 'the end of its services')
