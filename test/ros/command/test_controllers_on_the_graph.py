"""Declared controllers on the graph, by the names of the file, as MoveIt and others use them."""

from __future__ import annotations

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory, GripperCommand, ParallelGripperCommand
from control_msgs.msg import (
    JointTrajectoryControllerState,
    MultiDOFStateStamped,
    SpeedScalingFactor,
)
from control_msgs.srv import QueryTrajectoryState
from controlled_arm import controlled_arm
from following import trajectory
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from sim_bridge.ros.wire.qos import LATCHED_QOS

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")


def done(graph, future):
    """Return a future's result."""
    graph.wait(future.done, 'an answer')
    return future.result()


def call(graph, kind, service, request):
    """Call a service that does not carry the node's name."""
    client = graph.node.create_client(kind, service)
    graph.wait(client.service_is_ready, f'service {service}')
    return done(graph, client.call_async(request))


def reached(graph, client, goal):
    """Send a goal, and return its status and result."""
    handle = done(graph, client.send_goal_async(goal))
    assert handle.accepted
    told = done(graph, handle.get_result_async())
    return told.status, told.result


def test_arm_and_grippers_move_by_their_own_names(graph, start_node, tmp_path):
    """Follow a trajectory and move both kinds of grippers; watch and query the controllers."""
    start_node(robot=controlled_arm(tmp_path))
    states = graph.listen(JointState, '/joint_states')
    reports = graph.listen(
        JointTrajectoryControllerState, '/panda_arm_controller/controller_state'
    )
    pids = graph.listen(MultiDOFStateStamped, '/spin/controller_state')
    arm = graph.action_client(
        FollowJointTrajectory, '/panda_arm_controller/follow_joint_trajectory', '/sim_bridge'
    )
    goal = FollowJointTrajectory.Goal(
        trajectory=trajectory(['shoulder', 'elbow'], (1.0, [0.5, -0.4], [0.0, 0.0]))
    )
    status, result = reached(graph, arm, goal)
    assert (status, result.error_code) == (GoalStatus.STATUS_SUCCEEDED, result.SUCCESSFUL)
    graph.wait(
        lambda: reports and list(reports[-1].reference.positions) == [0.5, -0.4],
        'the state at the goal',
    )
    assert list(reports[-1].joint_names) == ['shoulder', 'elbow']
    assert list(reports[-1].feedback.positions) == pytest.approx([0.5, -0.4], abs=1e-3)
    assert list(reports[-1].output.positions) == [0.5, -0.4]
    graph.wait(lambda: pids, 'the state of the PID controller')
    assert [each.name for each in pids[-1].dof_states] == ['wheel']

    hand = graph.action_client(GripperCommand, '/hand/gripper_cmd', '/sim_bridge')
    goal = GripperCommand.Goal()
    goal.command.position = 0.06
    status, result = reached(graph, hand, goal)
    assert (status, result.reached_goal, result.stalled) == (4, True, False)
    assert result.position == pytest.approx(0.06, abs=0.01)
    goal.command.position = 0.3  # beyond the stop at 0.1
    status, result = reached(graph, hand, goal)
    assert (status, result.reached_goal, result.stalled) == (4, False, True)
    assert result.position == pytest.approx(0.1, abs=1e-3)

    jaw = graph.action_client(ParallelGripperCommand, '/jaw_controller/gripper_cmd', '/sim_bridge')
    goal = ParallelGripperCommand.Goal(command=JointState(name=['jaw'], position=[0.3]))
    status, result = reached(graph, jaw, goal)
    assert (status, result.reached_goal, result.stalled) == (6, False, True), (
        'not allowed to stall'
    )
    empty = done(graph, jaw.send_goal_async(ParallelGripperCommand.Goal()))
    assert not empty.accepted

    later = QueryTrajectoryState.Request()
    later.time.sec = states[-1].header.stamp.sec + 1000
    told = call(graph, QueryTrajectoryState, '/panda_arm_controller/query_state', later)
    assert (told.success, list(told.position)) == (True, [0.5, -0.4])
    past = QueryTrajectoryState.Request()
    told = call(graph, QueryTrajectoryState, '/panda_arm_controller/query_state', past)
    assert not told.success and 'present time' in told.message
    assert call(
        graph, SetBool, '/spin/set_feedforward_control', SetBool.Request(data=True)
    ).success

    turn = graph.advertise(Float64MultiArray, '/turn/commands')
    turn.publish(Float64MultiArray(data=[0.5]))
    graph.wait(
        lambda: states[-1].velocity[list(states[-1].name).index('turret')] == pytest.approx(0.5),
        'the turning turret',
    )


def test_a_kept_factor_scales_the_speed_from_the_start(graph, start_node, tmp_path):
    """Take the factor of a publisher that spoke before the start; take volatile ones after it."""
    topic = '/panda_arm_controller/speed_scaling_input'
    kept = graph.node.create_publisher(SpeedScalingFactor, topic, LATCHED_QOS)
    kept.publish(SpeedScalingFactor(factor=0.5))
    start_node(robot=controlled_arm(tmp_path))
    reports = graph.listen(
        JointTrajectoryControllerState, '/panda_arm_controller/controller_state'
    )
    graph.wait(lambda: reports and reports[-1].speed_scaling_factor == 0.5, 'the kept factor')
    volatile = graph.node.create_publisher(SpeedScalingFactor, topic, 10)
    graph.wait(lambda: volatile.get_subscription_count() > 0, 'the subscription')
    volatile.publish(SpeedScalingFactor(factor=0.25))
    graph.wait(lambda: reports[-1].speed_scaling_factor == 0.25, 'the new factor')
