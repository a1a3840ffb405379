"""The simulator as a managed node."""

from __future__ import annotations

import signal

from action_msgs.msg import GoalStatus
from bags import messages_on, read_bag
from control_msgs.action import FollowJointTrajectory
from following import trajectory
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
import pytest
from ros_graph import end, nanoseconds
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")


@pytest.fixture
def change(graph):
    """Return a function requesting a transition and returning its success."""

    def ask(transition: int) -> bool:
        request = ChangeState.Request(transition=Transition(id=transition))
        return graph.call(ChangeState, '/sim_bridge/change_state', request).success

    return ask


def state_of(graph) -> int:
    """Return the node's state."""
    return graph.call(GetState, '/sim_bridge/get_state', GetState.Request()).current_state.id


def topics_of(graph) -> set[str]:
    """Return the topic names published by the node."""
    # queried per topic, since the node's services may be discovered before the node itself
    node = graph.node
    return {
        topic
        for topic, _ in node.get_topic_names_and_types()
        if any(one.node_name == 'sim_bridge' for one in node.get_publishers_info_by_topic(topic))
    }


def test_a_managed_node_loads_runs_pauses_and_unloads(graph, start_process, change, tmp_path):
    """Publish nothing before it is configured, run only while active, twice; record each run."""
    process = start_process(
        '-m',
        'sim_bridge',
        'node',
        '--managed',
        '--ros-args',
        '-p',
        'robot:=pendulum',
        '-p',
        f'record:={tmp_path / "bag"}',
    )
    states, clock = graph.listen(JointState, '/joint_states'), graph.listen(Clock, '/clock')
    for _ in range(2):
        assert state_of(graph) == State.PRIMARY_STATE_UNCONFIGURED
        graph.wait(lambda: '/joint_states' not in topics_of(graph), 'the end of its topics')
        assert change(Transition.TRANSITION_CONFIGURE)
        graph.wait(lambda: '/joint_states' in topics_of(graph), 'its topics')
        clock.clear()
        graph.wait(lambda: len(clock) > 3 and nanoseconds(clock[-1].clock) == 1, 'its clock')
        assert {nanoseconds(tick.clock) for tick in clock[-3:]} == {1}, 'it stands still'
        answers = [
            graph.call(Trigger, '/sim_bridge/step', Trigger.Request()),
            graph.call(SetBool, '/sim_bridge/pause', SetBool.Request(data=False)),
        ]
        for answer in answers:
            assert not answer.success
            assert 'activate it first' in answer.message

        assert change(Transition.TRANSITION_ACTIVATE)
        graph.wait_for_next(states, 50)
        assert change(Transition.TRANSITION_DEACTIVATE)
        stood = graph.wait_for_standstill(states, clock)
        assert graph.wait_for_standstill(states, clock) == stood
        assert change(Transition.TRANSITION_ACTIVATE)
        graph.wait_for_next(states, 2)
        assert not change(Transition.TRANSITION_CLEANUP), 'not while it is active'
        assert change(Transition.TRANSITION_DEACTIVATE)
        assert change(Transition.TRANSITION_CLEANUP)
    code, output = end(process)
    assert code == 0, output
    assert f'recording to {tmp_path / "bag_2"}, since there is a' in output
    for bag in ('bag', 'bag_2'):
        recorded = messages_on(read_bag(tmp_path / bag), '/joint_states', JointState)
        assert len(recorded) > 50
        # a break while inactive takes no simulated time
        assert [nanoseconds(state.header.stamp) for state in recorded] == [
            number * 1_000_000 for number in range(1, len(recorded) + 1)
        ]


def test_a_managed_node_with_actions_lives_through_ten_configurations(
    graph, start_process, change
):
    """Follow a goal in each configuration; end one in progress; leave no action behind."""
    process = start_process(
        '-m', 'sim_bridge', 'node', '--managed', '--ros-args', '-p', 'robot:=double_pendulum'
    )
    action = '/joint_trajectory_controller/follow_joint_trajectory'
    for _ in range(10):
        assert change(Transition.TRANSITION_CONFIGURE)
        assert change(Transition.TRANSITION_ACTIVATE)
        client = graph.action_client(FollowJointTrajectory, action, '/sim_bridge')
        codes = []
        for seconds in (0.05, 1000.0):
            goal = FollowJointTrajectory.Goal(
                trajectory=trajectory(['elbow'], (seconds, [0.1], [0.0]))
            )
            sent = client.send_goal_async(goal)
            graph.wait(sent.done, 'an answer')
            assert sent.result().accepted
            ended = sent.result().get_result_async()
            if seconds < 1.0:
                graph.wait(ended.done, 'a result')
            codes.append(ended)
        # by the time of this answer, the client has requested its result
        graph.call(Trigger, '/sim_bridge/list_snapshots', Trigger.Request())
        assert change(Transition.TRANSITION_DEACTIVATE)
        assert change(Transition.TRANSITION_CLEANUP)
        graph.wait(lambda waiting=codes[1]: waiting.done(), 'the end of the goal')
        assert [each.result().status for each in codes] == [
            GoalStatus.STATUS_SUCCEEDED,
            GoalStatus.STATUS_ABORTED,
        ]
        client.destroy()
        graph.wait(
            lambda: (
                f'{action}/_action/send_goal' not in dict(graph.node.get_service_names_and_types())
            ),
            'the end of the action',
        )
    assert state_of(graph) == State.PRIMARY_STATE_UNCONFIGURED
    code, output = end(process)
    assert code == 0, output
    assert 'Traceback' not in output
    assert 'ERROR' not in output
    assert 'FATAL' not in output


def test_a_failed_load_leaves_the_node_unconfigured(graph, start_process, change):
    """Name the error, and wait for valid parameters; leave nothing behind."""
    process = start_process(
        '-m', 'sim_bridge', 'node', '--managed', '--ros-args', '-p', 'robot:=pendulun'
    )
    assert not change(Transition.TRANSITION_CONFIGURE)
    assert state_of(graph) == State.PRIMARY_STATE_UNCONFIGURED
    assert '/joint_states' not in topics_of(graph)
    assert change(Transition.TRANSITION_UNCONFIGURED_SHUTDOWN)
    assert state_of(graph) == State.PRIMARY_STATE_FINALIZED
    code, output = end(process)
    assert code == 0, output
    assert "Did you mean 'pendulum'" in output


@pytest.mark.parametrize('is_managed', [True, False])
def test_waiting_clients_are_told_about_the_end(graph, start_process, change, is_managed):
    """Answer steps in progress and waiting ones, before the services are destroyed."""
    process = start_process(
        '-m',
        'sim_bridge',
        'node',
        *(['--managed'] if is_managed else []),
        '--ros-args',
        '-p',
        'robot:=pendulum',
        '-p',
        'paused:=true',
        '-p',
        'step_count:=1000000',
    )
    states = graph.listen(JointState, '/joint_states')
    if is_managed:
        assert change(Transition.TRANSITION_CONFIGURE)
        assert change(Transition.TRANSITION_ACTIVATE)
    client = graph.client(Trigger, '/sim_bridge/step')
    waiting = [client.call_async(Trigger.Request()) for _ in range(2)]
    graph.wait_for_next(states, 5)
    # by the time of this answer, both requests have arrived
    graph.call(Trigger, '/sim_bridge/list_snapshots', Trigger.Request())
    if is_managed:
        assert change(Transition.TRANSITION_ACTIVE_SHUTDOWN)
    else:
        process.send_signal(signal.SIGINT)
    graph.wait(lambda: all(future.done() for future in waiting), 'answers')
    for future in waiting:
        assert not future.result().success
        assert future.result().message == 'the simulation is being unloaded'
    code, output = end(process)
    assert code == 0, output
    assert 'Traceback' not in output
