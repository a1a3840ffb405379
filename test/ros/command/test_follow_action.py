"""FollowJointTrajectory goals: on the graph, and tick by tick without one."""

from __future__ import annotations

from types import SimpleNamespace

from action_msgs.msg import GoalStatus
from bags import start_recording
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory as Action
from control_msgs.msg import JointTolerance
from following import simulator, smooth, trajectory
import numpy as np
import pytest
from rclpy.serialization import serialize_message
from ros_graph import end
from sensor_msgs.msg import JointState
from test_msgs.action import Fibonacci
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.ros.bag.replay import replay
from sim_bridge.ros.command.controllers import controllers_of
from sim_bridge.ros.command.follow_joint_trajectory import FollowJointTrajectory, goal_tolerances

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

SERVER = """
import time
import rclpy
from sensor_msgs.msg import JointState
from test_msgs.action import Fibonacci
from sim_bridge.ros.process.deferred_action import DeferredActionServer
from sim_bridge.ros.process.guarded_node import GuardedNode
from sim_bridge.ros.process.deferred import DELIVERY
from sim_bridge.ros.process.process import _executor

rclpy.init()
node = GuardedNode('server')
running, canceled = [], []
server = DeferredActionServer(
    node, Fibonacci, 'follow', lambda goal: goal.order > 0, running.append, canceled.append)

def monitor():
    for goal in list(running):
        order = goal.request.order
        is_canceled = any(each.goal_id == goal.goal_id for each in canceled)
        end = {3: 'canceled', 4: 'abort'}[order] if is_canceled else {
            1: 'succeed', 2: 'abort'}.get(order)
        if end:
            running.remove(goal)
            server.finish(goal, end, Fibonacci.Result(sequence=[order, order]))
            if order == 4:
                DELIVERY.wait()
                server.destroy()
        else:
            goal.publish_feedback(Fibonacci.Feedback(sequence=[order]))

node.create_timer(0.05, monitor)
cpu = time.process_time()
with _executor() as executor:
    executor.add_node(node)
    while len(canceled) < 1 or running:
        executor.spin_once(timeout_sec=0.1)
    print('cpu', time.process_time() - cpu, flush=True)
    while rclpy.ok():
        executor.spin_once(timeout_sec=0.1)
"""


def test_goals_end_when_finished_by_other_code(graph, start_process):
    """Reject, accept, report progress, succeed, abort and cancel, with the node's own executor."""
    process = start_process('-c', SERVER)
    client = graph.action_client(Fibonacci, 'follow', '/server')
    progress = []

    def send(order: int):
        future = client.send_goal_async(
            Fibonacci.Goal(order=order),
            feedback_callback=lambda message: progress.append(list(message.feedback.sequence)),
        )
        graph.wait(future.done, 'an answer')
        return future.result()

    def result(goal):
        future = goal.get_result_async()
        graph.wait(future.done, 'a result')
        return future.result().status, list(future.result().result.sequence)

    assert not send(0).accepted
    assert result(send(1)) == (4, [1, 1])
    assert result(send(2)) == (6, [2, 2])
    long = send(3)
    graph.wait(lambda: [3] in progress, 'progress')
    canceling = long.cancel_goal_async()
    graph.wait(canceling.done, 'an answer')
    assert len(canceling.result().goals_canceling) == 1
    assert result(long) == (5, [3, 3])
    last = send(4)
    future = last.get_result_async()
    # a result request to a destroyed server gets no answer: let the request arrive before
    seen = progress.count([4])
    graph.wait(lambda: progress.count([4]) > seen + 2, 'progress')
    last.cancel_goal_async()
    graph.wait(future.done, 'a result')
    assert (future.result().status, list(future.result().result.sequence)) == (6, [4, 4]), (
        'although the server is gone'
    )
    client.destroy()
    end_code, output = end(process)
    assert 'cpu' in output, (end_code, output)


def test_a_goal_is_followed_on_the_graph(graph, start_node):
    """Follow a trajectory to its end with feedback; refuse, replace and cancel others."""
    process = start_node(robot='double_pendulum')
    states = graph.listen(JointState, '/joint_states')
    client = graph.action_client(
        Action, '/joint_trajectory_controller/follow_joint_trajectory', '/sim_bridge'
    )
    feedback = []

    def send(q: float, time: float, joint: str = 'elbow'):
        future = client.send_goal_async(
            goal_of(trajectory([joint], (time, [q], [0.0]))),
            feedback_callback=lambda told: feedback.append(told.feedback),
        )
        graph.wait(future.done, 'an answer')
        return future.result()

    def result(goal):
        future = goal.get_result_async()
        graph.wait(future.done, 'a result')
        return future.result().status, future.result().result

    # a client drops feedback read after the end: stalls must be shorter than the motion
    goal = send(0.5, 3.0)
    graph.wait(lambda: feedback, 'feedback')
    status, told = result(goal)
    assert (status, told.error_code) == (GoalStatus.STATUS_SUCCEEDED, Action.Result.SUCCESSFUL)
    # earlier messages may still be in transit
    graph.wait(
        lambda: (
            states
            and abs(dict(zip(states[-1].name, states[-1].position, strict=True))['elbow'] - 0.5)
            < 1e-3
        ),
        'the elbow where the trajectory ends',
    )
    assert feedback[0].joint_names == ['elbow']
    assert all(abs(each.error.positions[0]) < 1e-6 for each in feedback)
    assert not send(0.5, 0.4, 'knee').accepted

    first, second = send(1.0, 1000.0), send(0.0, 1000.0)
    status, told = result(first)
    assert (status, told.error_code) == (GoalStatus.STATUS_ABORTED, Action.Result.INVALID_GOAL)
    assert 'another trajectory' in told.error_string
    cancelling = second.cancel_goal_async()
    graph.wait(cancelling.done, 'an answer')
    assert result(second)[0] == GoalStatus.STATUS_CANCELED
    client.destroy()
    code, output = end(process)
    assert code == 0, output
    assert 'Traceback' not in output


def goal_of(message=None, **values):
    """Make a goal."""
    return Action.Goal(trajectory=message or JointTrajectory(), **values)


def tolerance(name, position=0.0, velocity=0.0, acceleration=0.0):
    """Make a tolerance."""
    return JointTolerance(
        name=name, position=position, velocity=velocity, acceleration=acceleration
    )


def test_tolerances_of_goals_go_before_those_of_the_controller():
    """Use the default for 0 and none for -1; refuse other joints and values."""
    block = {'arm': {'constraints': {'goal_time': 2.0, 'a': {'trajectory': 0.1, 'goal': 0.2}}}}
    (arm,) = controllers_of(block, ['a', 'b'], ['a', 'b'])
    given = goal_of(
        path_tolerance=[tolerance('b', 0.3, velocity=1.0), tolerance('a', -1.0)],
        goal_tolerance=[tolerance('a', velocity=-1.0)],
        goal_time_tolerance=Duration(sec=1, nanosec=500_000_000),
    )
    found = goal_tolerances(given, arm)
    assert found.path.tolist() == [[0.0, 0.3], [0.0, 1.0], [0.0, 0.0]]
    assert found.goal.tolist() == [[0.2, 0.0], [0.0, 0.01], [0.0, 0.0]]
    assert found.goal_time == 1.5
    assert goal_tolerances(goal_of(), arm).goal_time == 2.0
    assert goal_tolerances(goal_of(goal_time_tolerance=Duration(sec=-1)), arm).goal_time == 0
    with pytest.raises(UnknownNameError, match="'c' in path_tolerance"):
        goal_tolerances(goal_of(path_tolerance=[tolerance('c')]), arm)
    with pytest.raises(InvalidValueError, match=r'goal_tolerance.velocity = -0.5'):
        goal_tolerances(goal_of(goal_tolerance=[tolerance('a', velocity=-0.5)]), arm)


class Handle:
    """A goal on the server's side."""

    is_cancel_requested = False

    def __init__(self, number, request):
        self.goal_id, self.request, self.feedback = number, request, []

    def publish_feedback(self, feedback):
        self.feedback.append(feedback)


@pytest.fixture
def follow_action(monkeypatch):
    """Return a simulator, its action with a server without a graph, and the goals' ends."""
    ends = {}

    class Server:
        def __init__(self, node, action_type, name, check, start, cancel):
            self.check, self.start, self.cancel = check, start, cancel

        def finish(self, goal, end, result):
            ends[goal.goal_id] = end, result.error_code, result.error_string

    monkeypatch.setattr(
        'sim_bridge.ros.command.follow_joint_trajectory.DeferredActionServer', Server
    )
    made = simulator(robot='double_pendulum')
    node = SimpleNamespace(
        get_logger=lambda: SimpleNamespace(warning=lambda text: None),
        create_timer=lambda *arguments, **options: None,
    )
    trajectories = made.interfaces[0].trajectories
    action = FollowJointTrajectory(node, Action, 'x', trajectories, trajectories.controllers[0])
    return made, action, ends


def test_goals_are_followed_and_their_ends_are_reported(follow_action):
    """Report progress, success, violated tolerances, cancellation and replacement."""
    made, action, ends = follow_action
    server = action._server

    def start(number, q, time=0.1, **values):
        handle = Handle(number, goal_of(trajectory(['elbow'], (time, [q], [0.0])), **values))
        assert server.check(handle.request)
        server.start(handle)
        return handle

    def run(ticks):
        for _ in range(ticks):
            made.tick()
        action.monitor()

    first = start(1, 0.5)
    run(50)
    (feedback,) = first.feedback
    assert feedback.joint_names == ['elbow']
    assert feedback.desired.positions[0] == pytest.approx(0.5 * smooth(0.49), abs=1e-9)
    assert feedback.actual.positions[0] == pytest.approx(0.5 * smooth(0.49), abs=1e-6)
    assert feedback.desired.time_from_start.nanosec == 49_000_000
    run(60)
    assert ends.pop(1) == ('succeed', 0, 'followed to its end')

    start(2, 0.0, path_tolerance=[tolerance('elbow', 1e-15)])
    run(20)
    assert ends[2][:2] == ('abort', -4)
    assert "joint 'elbow': position off by" in ends[2][2]

    third = start(3, 1.0, 5.0)
    run(20)
    third.is_cancel_requested = True
    server.cancel(third)
    run(2)
    assert ends[3] == ('canceled', 0, 'canceled')

    start(4, 1.0, 5.0)
    run(2)
    start(5, 0.0)
    run(2)
    assert ends[4] == ('abort', -1, 'another trajectory came')
    made.interfaces[0].commands.queue.accept_named(['elbow'], effort=[0.0])
    run(2)
    assert ends[5] == ('abort', -1, 'something else commanded its joints')

    assert not server.check(goal_of(trajectory(['elbow'])))
    assert made.interfaces[0].commands.counts.rejected == 1
    many = MultiDOFJointTrajectory(joint_names=['base'])
    assert not server.check(
        goal_of(trajectory(['elbow'], (1.0, [0.0])), multi_dof_trajectory=many)
    )

    # one goal is in progress, one has not begun
    start(6, 1.0, 5.0)
    made.tick()
    start(7, 1.0, 5.0)
    made.interfaces[0].inbox.actions.append(action)
    made.retire('the simulation is being unloaded')
    assert ends[6] == ends[7] == ('abort', -1, 'the simulation is being unloaded')
    start(8, 1.0, 5.0)
    made.tick()
    start(9, 1.0, 5.0)
    made.remove('double_pendulum')
    assert ends[8] == ends[9] == ('abort', -1, "robot 'double_pendulum' was removed")


def test_a_goal_beyond_a_stop_names_the_stop(follow_action):
    """Succeed without a tolerance, as in ros2_control, but say where the stop holds the joint."""
    made, action, ends = follow_action
    joint = made.interfaces[0].robot.joint('elbow')
    joint.lower, joint.upper = -2.09, 2.09
    said = []
    made.interfaces[0].trajectories.logger = SimpleNamespace(warning=said.append)
    why = "joint 'elbow': its stop at -2.09 holds it off the position -60"
    for number, (q, values, expected) in enumerate(
        [
            (-60.0, {}, ('succeed', 0, f'followed to its end; {why}')),
            (
                -60.0,
                {'path_tolerance': [tolerance('elbow', 0.1)]},
                ('abort', -4, 'position off by'),
            ),
            (-2.09 - 1e-9, {}, ('succeed', 0, 'followed to its end')),
        ],
        1,
    ):
        handle = Handle(number, goal_of(trajectory(['elbow'], (0.5, [q], [0.0])), **values))
        assert action._server.check(handle.request)
        action._server.start(handle)
        for _ in range(1500):
            made.tick()
        action.monitor()
        assert ends[number][:2] == expected[:2]
        assert expected[2] in ends[number][2]
        assert (why in ends[number][2]) == (q == -60.0)
    prefix = "trajectory of robot 'double_pendulum' ended: "
    assert said == [prefix + ends[number][2] for number in (1, 2)]
    assert abs(joint.q + 2.09) < 1e-9


def test_trajectories_are_recorded_and_replayed(tmp_path):
    """Give the same bits from topics, goals, tolerances and cancellations in a bag."""
    run = start_recording(tmp_path / 'bag', record_hash_period=0.01)
    made = run.simulator
    (interface,) = made.interfaces
    trajectories = interface.trajectories
    (controller,) = trajectories.controllers
    take = {topic.name: topic.take for topic in interface.command_topics}
    rng = np.random.default_rng(5)
    for step in range(400):
        if step == 10:
            take['joint_trajectory_controller/joint_trajectory'](
                serialize_message(
                    trajectory(
                        ['elbow', 'shoulder'], (0.1, [0.1, 0.2]), (0.3, [1 / 3, 0.7], [0.0, 0.0])
                    )
                )
            )
        if step == 100:
            order = trajectories.follow(
                trajectories.read(
                    controller,
                    trajectory(
                        ['shoulder'],
                        *(
                            (0.1 * k, [q], [v])
                            for k, (q, v) in enumerate(rng.normal(size=(3, 2)), 1)
                        ),
                        (0.5, [0.1], [0.0]),
                    ),
                )
            )
        if step == 200:
            trajectories.cancel(order.number)
        if step == 250:
            given = goal_of(path_tolerance=[tolerance('elbow', 1e-9)])
            order = trajectories.follow(
                trajectories.read(
                    controller,
                    trajectory(['elbow'], (0.3, [1.0])),
                    goal_tolerances(given, controller),
                )
            )
        if step == 300:
            assert order.outcome == 'path violated'
            take['joint_commands'](serialize_message(JointState(name=['shoulder'], effort=[0.3])))
        made.tick()
    run.recording.close()
    verdict = replay(tmp_path / 'bag')
    assert verdict.difference == ''
    assert verdict.state_hash == made.world.state_hash()
    assert verdict.commands == 5
