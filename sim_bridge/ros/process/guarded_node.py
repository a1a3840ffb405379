"""
Nodes surviving the exceptions of their callbacks.

rclpy passes a callback's exception on to the code spinning the executor, and the process ends. The
EventsExecutor also forgets the messages received together with the failed one. Callbacks are
therefore guarded at registration. A service with a failed callback responds nevertheless.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import functools
from typing import Any, TYPE_CHECKING

from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter

from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError, UnknownNameError
from sim_bridge.ros.params.parameter_names import is_foreign
from sim_bridge.ros.params.parameter_text import as_ros
from sim_bridge.ros.process.faults import described, Faults
from sim_bridge.ros.process.rclpy_compat import ExpiryClocks

if TYPE_CHECKING:
    from rclpy.service import Service
    from rclpy.subscription import Subscription
    from rclpy.timer import Timer

# base class for the type checker only; at run time, `Node` or `LifecycleNode` follows the mixin
if TYPE_CHECKING:
    _Mixed = Node
else:
    _Mixed = object


class GuardedMixin(_Mixed):
    """
    Guards the callbacks of a node's subscriptions, timers, services and parameters.

    `DeferredActionServer` guards the callbacks of actions.
    """

    faults: Faults
    """Exceptions of callbacks so far."""

    companions: list[Node]
    """Further nodes on the same executor, destroyed with this one."""

    expiry_clocks: ExpiryClocks
    """Clocks of its action servers."""

    given: Mapping[str, Any]
    """Parameter values from the command line, by dotted name."""

    conversions: list[Callable[[Parameter], Parameter]]
    """
    Applied in turn to each parameter before it is set. They may raise SimBridgeError.

    rclpy's own callbacks cannot chain, and its checks come later, with shorter messages.
    """

    preparations: list[Callable[[list[Parameter]], Callable[[], None]]]
    """
    Called in turn with all parameters of a request; each returns a function that applies them.

    They may raise SimBridgeError and then nothing of the request is applied. rclpy's callbacks
    would apply their part before a later one refuses its own.
    """

    def __init__(self, *args: Any, given: Mapping[str, Any] | None = None, **options: Any) -> None:
        """Create the node; given: parameter values by dotted name."""
        # the node creates services during its construction
        self.faults = Faults(lambda: self.get_logger())
        self.given, self.conversions, self.preparations = given or {}, [], []
        self.companions = []
        own = [
            Parameter(name, value=as_ros(value))
            for name, value in self.given.items()
            if is_foreign(name)
        ]
        super().__init__(*args, parameter_overrides=own, **options)
        self.expiry_clocks = ExpiryClocks(self)

    def accompany(self, other: Node) -> None:
        """Let this node's executor serve another node."""
        self.companions.append(other)
        if self.executor is not None:
            self.executor.add_node(other)

    def dismiss(self, other: Node) -> None:
        """Destroy a companion, on the executor's thread or after it has stopped."""
        self.companions.remove(other)
        if self.executor is not None:
            self.executor.remove_node(other)
        other.destroy_node()

    def destroy_node(self) -> None:
        """Destroy the node and its companions."""
        for other in list(self.companions):
            self.dismiss(other)
        super().destroy_node()

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Callable[..., None], *args: Any, **options: Any
    ) -> Subscription:
        """Subscribe like `Node`."""
        guarded = self.faults.guard(f'callback of topic {topic!r}', callback)
        return super().create_subscription(msg_type, topic, guarded, *args, **options)

    def create_timer(
        self, timer_period_sec: float, callback: Callable[..., Any], *args: Any, **options: Any
    ) -> Timer:
        """Create a timer like `Node`."""
        name = getattr(callback, '__qualname__', repr(callback))
        guarded = self.faults.guard(f'timer {name!r}', callback)
        return super().create_timer(timer_period_sec, guarded, *args, **options)

    def create_service(
        self,
        srv_type: Any,
        srv_name: str,
        callback: Callable[[Any, Any], Any],
        *args: Any,
        **options: Any,
    ) -> Service:
        """Create a service like `Node`; if the callback fails, `message` gives the reason."""
        if srv_type is SetParameters:
            callback = self._set_each
        elif srv_type is SetParametersAtomically:
            callback = self._set_all
        guarded = self.faults.guard(
            f'service {srv_name!r}', callback, functools.partial(_failed, srv_type)
        )
        return super().create_service(srv_type, srv_name, guarded, *args, **options)

    def set_parameters(self, parameter_list: list[Parameter]) -> list[SetParametersResult]:
        """Set parameters one by one, each by `set_parameters_atomically`."""
        return [self.set_parameters_atomically([each]) for each in parameter_list]

    def set_parameters_atomically(self, parameter_list: list[Parameter]) -> SetParametersResult:
        """
        Set all parameters or none, after `conversions` and `preparations`.

        The services for setting parameters call this. An unknown name or a callback's exception
        becomes the reason in the result. rclpy raises an exception for both, without the name in
        its message. It also changes the type in a parameter's descriptor when the new value is
        refused.
        """
        try:
            for convert in self.conversions:
                parameter_list = [convert(each) for each in parameter_list]
        except SimBridgeError as err:
            return _refused(str(err))
        declared = self.list_parameters([], 0).names
        for parameter in parameter_list:
            if parameter.name not in declared:
                return _refused(str(_unknown(self, parameter.name, declared)))
        # references to the node's own descriptors, not copies
        descriptors = self.describe_parameters([each.name for each in parameter_list])
        types = [descriptor.type for descriptor in descriptors]
        set_them = self.faults.guard(
            'setting ' + ', '.join(repr(each.name) for each in parameter_list),
            self._prepare_and_set,
            lambda error, given: _refused(described(error)),
        )
        result: SetParametersResult = set_them(parameter_list)
        if not result.successful:
            for descriptor, before in zip(descriptors, types, strict=True):
                descriptor.type = before
        return result

    def _prepare_and_set(self, parameter_list: list[Parameter]) -> SetParametersResult:
        try:
            applied = [prepare(parameter_list) for prepare in self.preparations]
        except SimBridgeError as err:
            return _refused(str(err))
        result = super().set_parameters_atomically(parameter_list)
        if result.successful:
            for apply in applied:
                apply()
        return result

    def _set_each(self, request: Any, response: Any) -> Any:
        """Answer SetParameters; rclpy answers nothing if one parameter is malformed."""
        for message in request.parameters:
            try:
                result = self.set_parameters_atomically([_parameter_from(message)])
            except InvalidValueError as err:
                result = _refused(str(err))
            response.results.append(result)
        return response

    def _set_all(self, request: Any, response: Any) -> Any:
        """Answer SetParametersAtomically."""
        try:
            parameters = [_parameter_from(each) for each in request.parameters]
            response.result = self.set_parameters_atomically(parameters)
        except InvalidValueError as err:
            response.result = _refused(str(err))
        return response


def _parameter_from(message: Any) -> Parameter:
    """Return the parameter in an rcl_interfaces/Parameter; raises InvalidValueError."""
    try:
        parameter: Parameter = Parameter.from_parameter_msg(message)
        return parameter
    except ValueError as err:
        known = ', '.join(f'{each.value} ({each.name})' for each in Parameter.Type)
        raise InvalidValueError(
            f'type of parameter {message.name!r}', message.value.type, f'one of {known}'
        ) from err


def _failed(srv_type: Any, error: Exception, request: Any, response: Any) -> Any:
    """Return the response of a service whose callback failed."""
    response = srv_type.Response()
    if isinstance(getattr(response, 'message', None), str):
        response.message = described(error)
    return response


def _refused(reason: str) -> SetParametersResult:
    return SetParametersResult(successful=False, reason=reason)


def _unknown(node: Node, name: str, declared: list[str]) -> UnknownNameError:
    """Return the error for an undeclared name, with all names of its block, if it has one."""
    block = name.partition('.')[0] + '.'
    settable = [each for each in declared if not node.describe_parameter(each).read_only]
    return UnknownNameError(
        'parameter',
        name,
        [each for each in settable if each.startswith(block)] or settable,
        f'node {node.get_fully_qualified_name()}',
    )


class GuardedNode(GuardedMixin, Node):
    """A node surviving the exceptions of its callbacks."""
