"""
Services of ros2_control's controller manager, if controller_manager_msgs is installed.

They have names below the manager of a robot's file, where `spawner`, `ros2 control` and launch
files expect them. Requests are answered by the physics thread, between two control steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast, TYPE_CHECKING
import xml.etree.ElementTree as ElementTree

from rcl_interfaces.msg import SetParametersResult

from sim_bridge.description.yaml.controller_kinds import READERS
from sim_bridge.description.yaml.drives import TYPES as DRIVES
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError
from sim_bridge.ros.command.controller_states import ACTIVE, Strictness
from sim_bridge.ros.interfaces.store import absence
from sim_bridge.ros.process.entity_scope import EntityScope
from sim_bridge.ros.services.controller_nodes import add_controller_nodes
from sim_bridge.ros.wire.messages import pack_stamp, unpack_stamp
from sim_bridge.ros.wire.qos import LATCHED_QOS, optional_messages

if TYPE_CHECKING:
    from rclpy.node import Node
    from rclpy.parameter import Parameter

    from sim_bridge.description.ros2_control import ControllerManagerDescription
    from sim_bridge.ros.command.controller_states import ControllerStates
    from sim_bridge.ros.process.deferred import Answer, DeferredServices
    from sim_bridge.ros.process.executor_calls import ExecutorCalls
    from sim_bridge.ros.process.guarded_node import GuardedMixin
    from sim_bridge.ros.session.robot_interface import RobotInterface
    from sim_bridge.ros.session.simulator import Simulator

_TYPES = (*READERS, *(each for each in DRIVES if '/' in each))
_BASE_CLASS = 'controller_interface::ControllerInterface'
# controller parameters that spawners set in the manager; only the type counts
_SPAWNED = ('type', 'params_file', 'node_options_args', 'fallback_controllers')
# lifecycle_msgs/State
_IDS = {'unconfigured': 1, 'inactive': 2, 'active': 3}


class ControllerManager:
    """Services of one manager of one robot."""

    def __init__(
        self,
        node: GuardedMixin,
        services: DeferredServices,
        simulator: Simulator,
        interface: RobotInterface,
        manager: ControllerManagerDescription,
        on_change: Callable[[], None],
    ) -> None:
        """
        Create the services.

        on_change: called on the physics thread after control modes may have changed.
        """
        self._node, self._simulator, self._interface = node, simulator, interface
        self._manager, self._on_change = manager, on_change
        self._messages = cast('Any', optional_messages('controller_manager_msgs'))
        srv = optional_messages('controller_manager_msgs', 'srv')
        root = manager_root(manager, interface)
        for kind, handler in (
            ('ListControllers', self._list),
            ('ListControllerTypes', self._list_types),
            ('LoadController', partial(self._change, self._states.load)),
            ('ConfigureController', partial(self._change, self._states.configure)),
            ('CleanupController', partial(self._change, self._states.cleanup)),
            ('UnloadController', partial(self._change, self._states.unload)),
            ('SwitchController', self._switch),
            ('ReloadControllerLibraries', self._reload),
            ('ListHardwareComponents', self._list_components),
            ('ListHardwareInterfaces', self._list_interfaces),
            ('SetHardwareComponentState', self._set_component),
        ):
            if hasattr(srv, kind):
                services.create(
                    getattr(srv, kind), f'{root}/{_snake(kind)}', handler, self._refuse
                )
        self.nodes = add_controller_nodes(node, root, manager, self._judge)
        """Nodes of the manager and its controllers."""
        self._activity = node.create_publisher(
            self._messages.ControllerManagerActivity, f'{root}/activity', LATCHED_QOS
        )
        self._report()

    @property
    def _states(self) -> ControllerStates:
        return self._interface.states

    def _own(self) -> list[str]:
        """Return the names of this manager's loaded controllers."""
        states = self._states
        return [
            name for name in states.loaded() if states.controllers[name].manager is self._manager
        ]

    def _refuse(self, response: Any, error: SimBridgeError) -> None:
        response.ok = False
        if hasattr(response, 'message'):
            response.message = str(error)
        self._node.get_logger().warning(f'{self._manager.name}: {error}')

    # --- controllers -----------------------------------------------------------------------------

    def _list(self, request: Any, response: Any, answer: Answer) -> None:
        response.controller = [self._state_of(name) for name in self._own()]
        answer(response)

    def _state_of(self, name: str) -> Any:
        controller, stage = self._states.controllers[name], self._states.stage_of(name)
        return self._messages.ControllerState(
            name=name,
            state=stage,
            type=controller.description.type,
            update_rate=round(self._manager.update_rate) or 100,
            claimed_interfaces=list(controller.claims) if stage == ACTIVE else [],
            required_command_interfaces=list(controller.claims),
            required_state_interfaces=[
                f'{joint}/{quantity}'
                for joint in controller.joints
                for quantity in ('position', 'velocity')
            ],
        )

    def _list_types(self, request: Any, response: Any, answer: Answer) -> None:
        response.types = list(_TYPES)
        response.base_classes = [_BASE_CLASS] * len(_TYPES)
        answer(response)

    def _change(
        self, act: Callable[[str], None], request: Any, response: Any, answer: Answer
    ) -> None:
        """Load, configure, clean up or unload a controller."""
        act(request.name)
        self._simulator.use_controllers(self._interface.robot.name, self._states.stages)
        response.ok = True
        self._announce()
        answer(response)

    def _switch(self, request: Any, response: Any, answer: Answer) -> None:
        response.message = self._states.switch(
            list(request.activate_controllers),
            list(request.deactivate_controllers),
            self._strictness(request.strictness or Strictness.BEST_EFFORT),
        )
        self._simulator.use_controllers(self._interface.robot.name, self._states.stages)
        response.ok = True
        self._announce()
        answer(response)

    def _reload(self, request: Any, response: Any, answer: Answer) -> None:
        """Agree if no controller is loaded; with force_kill, unload all before."""
        names = self._own()
        if names and request.force_kill:
            active = [name for name in names if self._states.is_active(name)]
            if active:
                self._states.switch([], active, Strictness.BEST_EFFORT)
            for name in names:
                self._states.unload(name)
            self._simulator.use_controllers(self._interface.robot.name, self._states.stages)
            self._announce()
        response.ok = not self._own()
        answer(response)

    @staticmethod
    def _strictness(number: int) -> Strictness:
        known = [each.value for each in Strictness]
        if number not in known:
            words = ', '.join(f'{each.value} ({each.name})' for each in Strictness)
            raise InvalidValueError('strictness', number, f'one of {words}')
        return Strictness(number)

    def _announce(self) -> None:
        self._on_change()
        self._report()

    def _report(self) -> None:
        """Publish the states of controllers and hardware."""
        message = self._messages.ControllerManagerActivity()
        message.header.stamp = unpack_stamp(pack_stamp(self._simulator.time_ns))
        message.controllers = [
            self._named(name, self._states.stage_of(name)) for name in self._own()
        ]
        message.hardware_components = [
            self._named(each.get('name', ''), 'active') for each in self._systems()
        ]
        self._activity.publish(message)

    def _named(self, name: str, stage: str) -> Any:
        named = self._messages.NamedLifecycleState(name=name)
        named.state.id, named.state.label = _IDS[stage], stage
        return named

    def _judge(self, parameter: Parameter) -> SetParametersResult:
        """Accept what spawners set: the type and the parameter files of a declared controller."""
        name, _, key = parameter.name.rpartition('.')
        value = parameter.value
        controller = self._states.controllers.get(name)
        reason = ''
        if controller is None or key not in _SPAWNED:
            known = ', '.join(self._states.controllers)
            reason = (
                f'no parameter {name}.{key}: the controllers of this robot are those of its '
                f'controller file: {known}'
            )
        elif key == 'type' and value != controller.description.type:
            reason = f'{name} is a {controller.description.type} in the controller file'
        return SetParametersResult(successful=not reason, reason=reason)

    # --- hardware --------------------------------------------------------------------------------

    def _systems(self) -> list[ElementTree.Element]:
        """Return the elements `<ros2_control>` of the robot."""
        text = self._interface.robot.description.xml
        return ElementTree.fromstring(text).findall('ros2_control') if text else []

    def _list_components(self, request: Any, response: Any, answer: Answer) -> None:
        for system in self._systems():
            component = self._messages.HardwareComponentState(
                name=system.get('name', ''),
                type=system.get('type', ''),
                plugin_name=(system.findtext('hardware/plugin') or '').strip(),
                command_interfaces=self._interfaces_of(system, 'command_interface'),
                state_interfaces=self._interfaces_of(system, 'state_interface'),
            )
            component.state.id, component.state.label = _IDS['active'], 'active'
            response.component.append(component)
        answer(response)

    def _list_interfaces(self, request: Any, response: Any, answer: Answer) -> None:
        for system in self._systems():
            response.command_interfaces += self._interfaces_of(system, 'command_interface')
            response.state_interfaces += self._interfaces_of(system, 'state_interface')
        answer(response)

    def _interfaces_of(self, system: ElementTree.Element, tag: str) -> list[Any]:
        claimed = self._states.claimed()
        return [
            self._messages.HardwareInterface(
                name=name,
                data_type='double',
                is_available=True,
                is_claimed=tag == 'command_interface' and name in claimed,
            )
            for part in (*system.findall('joint'), *system.findall('sensor'))
            for each in part.findall(tag)
            for name in [f'{part.get("name", "")}/{each.get("name", "")}']
        ]

    def _set_component(self, request: Any, response: Any, answer: Answer) -> None:
        """Hardware is always active; other states are refused."""
        known = [each.get('name', '') for each in self._systems()]
        target = request.target_state
        is_active = target.id == _IDS['active'] or target.label == 'active'
        response.ok = request.name in known and is_active
        if request.name in known:
            response.state.id, response.state.label = _IDS['active'], 'active'
        if not response.ok:
            self._node.get_logger().warning(
                f'hardware {request.name!r} is not set to {target.label or target.id}: simulated '
                f'hardware is always active; the components are {", ".join(known) or "none"}'
            )
        answer(response)


class ControllerManagers:
    """All robots' managers, also for robots spawned at run time."""

    def __init__(
        self,
        node: GuardedMixin,
        services: DeferredServices,
        simulator: Simulator,
        calls: ExecutorCalls,
        read_back: Callable[[], None],
    ) -> None:
        """
        Create the services for the present robots.

        read_back: updates parameters to the joints' control modes, on the executor's thread.
        """
        self._node, self._services, self._simulator = node, services, simulator
        self._on_change = partial(calls.call, read_back)
        self._scopes: dict[str, EntityScope] = {}
        self._nodes: dict[str, list[Node]] = {}
        self._roots: dict[str, str] = {}
        self._is_told = False
        for interface in simulator.interfaces:
            self.add(interface)

    def add(self, interface: RobotInterface) -> None:
        """Create the services for a robot's managers; log a message without their messages."""
        description = interface.robot.description
        known = description.controller_managers if interface.states.controllers else ()
        managers = [each for each in known if each.name]
        if not managers or not self._has_messages():
            return
        name = interface.robot.name
        scope = self._scopes[name] = EntityScope(cast('Any', self._node))
        with scope.collecting():
            for manager in managers:
                root = manager_root(manager, interface)
                if root in self._roots:
                    self._node.get_logger().warning(
                        f'no services of {root} for robot {name!r}: robot {self._roots[root]!r} '
                        'has them already; give one of them another namespace'
                    )
                    continue
                self._roots[root] = name
                made = ControllerManager(
                    self._node,
                    self._services,
                    self._simulator,
                    interface,
                    manager,
                    self._on_change,
                )
                self._nodes.setdefault(name, []).extend(made.nodes)

    def remove(self, interface: RobotInterface) -> None:
        """Destroy a removed robot's services."""
        name = interface.robot.name
        self._roots = {root: robot for root, robot in self._roots.items() if robot != name}
        for each in self._nodes.pop(name, []):
            self._node.dismiss(each)
        scope = self._scopes.pop(name, None)
        if scope is not None:
            scope.destroy()

    def _has_messages(self) -> bool:
        """Return whether the messages are installed; log their absence once."""
        if optional_messages('controller_manager_msgs', 'srv') is not None:
            return True
        if not self._is_told:
            self._is_told = True
            self._node.get_logger().info(
                'optional: no services of controller_manager, since '
                + absence('controller_manager_msgs')
            )
        return False


def manager_root(manager: ControllerManagerDescription, interface: RobotInterface) -> str:
    """Return a manager's name on the graph, with the robot's or its own namespace before it."""
    prefix = f'{manager.prefix}/' if manager.namespace else interface.prefix
    return prefix + manager.name


def _snake(kind: str) -> str:
    """Return 'list_controllers' for 'ListControllers'."""
    return ''.join(f'_{c.lower()}' if c.isupper() else c for c in kind).lstrip('_')
