"""
Nodes for a controller manager and its controllers, with their parameters.

ros2_control's controllers are nodes; ros2cli, rqt_controller_manager and the completion for
ros2controlcli ask them. The parameters come from the robot's files and cannot be set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TYPE_CHECKING

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.exceptions import InvalidNamespaceException, InvalidNodeNameException
from rclpy.node import Node

from sim_bridge.ros.params.parameter_text import as_ros, flattened

if TYPE_CHECKING:
    from rclpy.parameter import Parameter

    from sim_bridge.description.ros2_control import ControllerManagerDescription
    from sim_bridge.ros.process.guarded_node import GuardedMixin

# rclpy declares it for every node
_OWN = ('use_sim_time',)


def add_controller_nodes(
    node: GuardedMixin,
    root: str,
    manager: ControllerManagerDescription,
    judge: Callable[[Parameter], SetParametersResult],
) -> list[Node]:
    """
    Return nodes for a manager and its controllers, served by a node's executor.

    root: the manager's name on the graph, relative to the node's namespace if without a slash at
    its start. judge: returns whether the manager accepts a parameter. A controller without a valid
    node name gets none.
    """
    full = root if root.startswith('/') else f'{node.get_namespace().rstrip("/")}/{root}'
    namespace = full.rpartition('/')[0]
    found = _make(manager.name, namespace, dict(_of_manager(manager)), is_read_only=False)
    if found is not None:

        def judge_all(parameters: list[Parameter]) -> SetParametersResult:
            results = [judge(each) for each in parameters]
            refused = [each for each in results if not each.successful]
            return refused[0] if refused else SetParametersResult(successful=True)

        found.add_on_set_parameters_callback(judge_all)
    nodes = [
        found,
        *(
            _make(each.name, namespace, {'type': each.type, **dict(flattened(each.parameters))})
            for each in manager.controllers
        ),
    ]
    made = [each for each in nodes if each is not None]
    for each in made:
        node.accompany(each)
    return made


def _of_manager(manager: ControllerManagerDescription) -> Iterator[tuple[str, Any]]:
    if manager.update_rate:
        yield 'update_rate', round(manager.update_rate)
    for each in manager.controllers:
        yield f'{each.name}.type', each.type


def _make(
    name: str, namespace: str, values: Mapping[str, Any], is_read_only: bool = True
) -> Node | None:
    """Return a node with these parameters; None for an invalid name."""
    try:
        made = Node(
            name,
            namespace=namespace or '/',
            # names and parameters from the command line belong to the simulator
            use_global_arguments=False,
            enable_rosout=False,
            allow_undeclared_parameters=not is_read_only,
        )
    except (InvalidNodeNameException, InvalidNamespaceException):
        return None
    for key, value in values.items():
        if key not in _OWN and value is not None and value != []:
            made.declare_parameter(key, as_ros(value), ParameterDescriptor(read_only=is_read_only))
    return made
