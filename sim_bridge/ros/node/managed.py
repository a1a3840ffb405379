"""The simulator as a managed node: lifecycle transitions load, run, pause and unload it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from sim_bridge.foundation.errors import SimBridgeError
from sim_bridge.ros.node.node import SimBridge
from sim_bridge.ros.process.polling import PollingMixin
from sim_bridge.ros.process.rclpy_compat import guard_service


class ManagedNode(PollingMixin, LifecycleNode):
    """A lifecycle node delegating its transitions to a program."""

    program: ManagedSimBridge

    def __init__(self, name: str, **options: Any) -> None:
        """Create the services of managed nodes."""
        super().__init__(name, **options)
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
        return self._attempt(self.program.cleanup)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Unload permanently."""
        return self._attempt(self.program.cleanup)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Unload everything, so that the node can be configured again."""
        return self._attempt(self.program.cleanup)

    def _attempt(self, transition: Callable[[], None]) -> TransitionCallbackReturn:
        try:
            transition()
        except SimBridgeError as err:
            self.get_logger().error(str(err))
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS


def _refusing(change: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Refuse a transition invalid in the current state, instead of raising rclpy's exception."""

    def change_or_refuse(request: Any, response: Any) -> Any:
        try:
            return change(request, response)
        except RuntimeError:  # base class of rclpy's errors; rcl has logged it
            response.success = False
            return response

    return change_or_refuse


class ManagedSimBridge(SimBridge):
    """
    A simulation following the lifecycle states of a managed node.

    While inactive, the simulation stands still. It has its topics and /clock, and serves resets
    and queries, but cannot be run or stepped.
    """

    node_type = ManagedNode

    def __init__(self, node: ManagedNode) -> None:
        """Wait to be configured; raises InvalidValueError for invalid parameters."""
        node.program = self
        self._is_active = False
        super().__init__(node)

    def begin(self) -> None:
        """Do nothing; a transition starts the simulation."""

    @property
    def is_active(self) -> bool:
        """Whether the node is active."""
        return self._is_active

    @property
    def why_no_loading(self) -> str:
        """Reason why no other world can be loaded now; '' for none."""
        is_configured = self.has_world or self.worlds.is_unloaded
        return '' if is_configured else 'the managed node is unconfigured; configure it first'

    def configure(self) -> None:
        """Load and compile; raises SimBridgeError and then leaves nothing on the graph."""
        try:
            self.load(is_active=False)
        except SimBridgeError:
            self.unload()
            raise

    def activate(self) -> None:
        """Run, unless the parameter `paused` is set."""
        self._is_active = True
        if self.has_world:
            plays = not self.parameters.paused
            self.pacer.submit(lambda: self.control.activate(plays))

    def deactivate(self) -> None:
        """Pause, even during other operations."""
        self._is_active = False
        if self.has_world:
            self.pacer.submit(self.control.deactivate)

    def cleanup(self) -> None:
        """Unload, also the services without a world."""
        self._is_active = False
        self.worlds.forget()
        self.unload()
        self.forget_other()
