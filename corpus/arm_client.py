"""
Client as MoveIt: trajectories and grippers by the names in a robot's parameter files.

    python -m corpus.arm_client REQUEST

REQUEST is a JSON object by `clients.request`; the results are one JSON object on stdout.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from control_msgs import action as actions
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint

from corpus.joined import AbsentError, Joined

# rad or m
_STEP, _NEAR = 0.1, 0.02
# s
_DURATION = 2


def main(request: dict[str, Any]) -> dict[str, str]:
    """Move each trajectory controller and each gripper; return a result for each name."""
    results = {}
    with Joined('arm_client', request['patience']) as graph:
        states = graph.latest(JointState, '/joint_states')
        for kind, move in (('trajectories', _follow), ('grippers', _grip)):
            for each in request[kind]:
                try:
                    results[each['name']] = move(graph, states, each)
                except AbsentError as err:
                    results[each['name']] = str(err)
    return results


def _follow(graph: Joined, states: list[JointState], one: dict[str, Any]) -> str:
    """Move each joint towards the middle of its limits; joints without limits forward."""
    start = _positions(graph, states, one['joints'])
    goals = [
        begin + (_STEP if middle is None else max(-_STEP, min(_STEP, middle - begin)))
        for begin, middle in zip(start, one['middles'], strict=True)
    ]
    goal = actions.FollowJointTrajectory.Goal()
    goal.trajectory.joint_names = one['joints']
    point = JointTrajectoryPoint(positions=goals, velocities=[0.0] * len(goals))
    point.time_from_start.sec = _DURATION
    goal.trajectory.points = [point]
    result = _done(graph, actions.FollowJointTrajectory, one['action'], goal)
    if isinstance(result, str):
        return result
    if result.error_code != result.SUCCESSFUL:
        return f'error {result.error_code}: {result.error_string}'
    states.clear()
    reached = _positions(graph, states, one['joints'])
    error = max(abs(goal - end) for goal, end in zip(goals, reached, strict=True))
    return 'reached' if error < _NEAR else f'off by {error:.3g}'


def _grip(graph: Joined, states: list[JointState], one: dict[str, Any]) -> str:
    """Close or open a gripper to the middle of its joint's limits."""
    kind = getattr(actions, one['kind'])
    goal = kind.Goal()
    if one['kind'] == 'GripperCommand':
        goal.command.position = one['position']
    else:
        goal.command = JointState(name=[one['joint']], position=[one['position']])
    result = _done(graph, kind, one['action'], goal)
    if isinstance(result, str):
        return result
    return 'reached' if result.reached_goal else f'stalled: {result.stalled}'


def _done(graph: Joined, kind: Any, name: str, goal: Any) -> Any:
    """Return an action's result, or the reason for none."""
    client = ActionClient(graph.node, kind, name)
    try:
        graph.wait(client.server_is_ready, f'action {name}')
        handle = graph.result(client.send_goal_async(goal), f'answer of {name}')
        if not handle.accepted:
            return 'refused'
        return graph.result(handle.get_result_async(), f'result of {name}').result
    finally:
        client.destroy()


def _positions(graph: Joined, states: list[JointState], joints: list[str]) -> list[float]:
    """Return joint positions in the next complete message."""
    graph.wait(lambda: states and set(joints) <= set(states[-1].name), 'joint_states')
    found = dict(zip(states[-1].name, states[-1].position, strict=True))
    return [found[joint] for joint in joints]


if __name__ == '__main__':
    print(json.dumps(main(json.loads(sys.argv[1]))))
