"""The simulator as a managed node: lifecycle transitions load it, run it, pause it, unload it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from sim_bridge.foundation.errors import SimBridgeError
from sim_bridge.ros.node.node import SimBridge
from sim_bridge.ros.process.polling import PollingMixin
from sim_bridge.ros.process.rclpy_compat import guard_service


class ManagedNode(PollingMixin, LifecycleNode):
    """A node that leaves its transitions to a program."""

    program: ManagedSimBridge

    def __init__(self, name: str) -> None:
        """Offer the services of managed nodes."""
        super().__init__(name)
        guard_service(self, '/change_state', _refusing)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load and compile."""
        return self._attempt(self.program.configure)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Run."""
        return self._attempt(self.program.activate)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Pause."""
        return self._attempt(self.program.deactivate)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Unload."""
        return self._attempt(self.program.unload)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Unload, for good."""
        return self._attempt(self.program.unload)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Unload whatever there is, so that it can be configured again."""
        return self._attempt(self.program.unload)

    def _attempt(self, transition: Callable[[], None]) -> TransitionCallbackReturn:
        try:
            transition()
        except SimBridgeError as err:
            self.get_logger().error(str(err))
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS


def _refusing(change: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Refuse a transition that the present state does not have, where rclpy would raise."""
    def change_or_refuse(request: Any, response: Any) -> Any:
        try:
            return change(request, response)
        except RuntimeError:  # the base of rclpy's errors, which rcl has logged
            response.success = False
            return response

    return change_or_refuse


class ManagedSimBridge(SimBridge):
    """
    A simulation that comes and goes with the states of a managed node.

    Inactive it stands still at where it is, announces its topics and /clock, and can be reset and
    asked, but not run or stepped.
    """

    node_type = ManagedNode

    def __init__(self, node: ManagedNode) -> None:
        """Wait to be configured; raises InvalidValueError for parameters that are no good."""
        node.program = self
        super().__init__(node)

    def begin(self) -> None:
        """Do nothing yet."""

    def configure(self) -> None:
        """Load and compile; raises SimBridgeError, with nothing left on the graph."""
        try:
            self.load(is_active=False)
        except SimBridgeError:
            self.unload()
            raise

    def activate(self) -> None:
        """Run, unless the parameter `paused` says to begin paused."""
        plays = not self.parameters.paused
        self.pacer.submit(lambda: self.control.activate(plays))

    def deactivate(self) -> None:
        """Pause, whatever is under way."""
        self.pacer.submit(self.control.deactivate)
