"""The offered standard services, and their features for GetSimulatorFeatures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sim_bridge.foundation.version import __version__
from sim_bridge.ros.interfaces.store import absence
from sim_bridge.ros.process.deferred import Answer, DeferredServices, Handler
from sim_bridge.ros.process.executor_calls import ExecutorCalls
from sim_bridge.ros.process.guarded_node import GuardedMixin
from sim_bridge.ros.services.entities import Entities
from sim_bridge.ros.services.simulation_control import SimulationControl
from sim_bridge.ros.services.standard.entities import EntityServices
from sim_bridge.ros.services.standard.interfaces import (
    installed_interfaces,
    Interfaces,
    names_of,
    refuse,
)
from sim_bridge.ros.services.standard.named_poses import NamedPoseServices
from sim_bridge.ros.services.standard.simulation import SimulationServices
from sim_bridge.ros.services.standard.spawning import SPAWN_FORMATS, SpawnServices
from sim_bridge.ros.services.standard.stepping import STEPPING, SteppingAction
from sim_bridge.ros.session.simulator import Simulator

# features implied by each service
FEATURES = {
    'SpawnEntity': ('SPAWNING', 'SPAWNING_RESOURCE_STRING'),
    'SpawnEntities': ('SPAWNING_ENTITIES',),
    'DeleteEntity': ('DELETING',),
    'GetSpawnables': ('SPAWNABLES',),
    'GetEntities': ('ENTITY_CATEGORIES', 'ENTITY_BOUNDS_BOX', 'ENTITY_BOUNDS_CONVEX'),
    'GetEntitiesStates': (),
    'GetEntityState': ('ENTITY_STATE_GETTING',),
    'SetEntityState': ('ENTITY_STATE_SETTING',),
    'GetEntityInfo': ('ENTITY_INFO_GETTING',),
    'SetEntityInfo': ('ENTITY_INFO_SETTING', 'ENTITY_TAGS'),
    'GetEntityBounds': ('ENTITY_BOUNDS',),
    'GetNamedPoses': ('NAMED_POSES',),
    'GetNamedPoseBounds': ('POSE_BOUNDS',),
    'ResetSimulation': (
        'SIMULATION_RESET',
        'SIMULATION_RESET_TIME',
        'SIMULATION_RESET_STATE',
        'SIMULATION_RESET_SPAWNED',
    ),
    'GetSimulationState': ('SIMULATION_STATE_GETTING',),
    'SetSimulationState': ('SIMULATION_STATE_SETTING', 'SIMULATION_STATE_PAUSE'),
    'StepSimulation': ('STEP_SIMULATION_SINGLE', 'STEP_SIMULATION_MULTIPLE'),
    STEPPING: ('STEP_SIMULATION_ACTION',),
    'LoadWorld': ('WORLD_LOADING', 'WORLD_RESOURCE_STRING'),
    'UnloadWorld': ('WORLD_UNLOADING',),
    'GetCurrentWorld': ('WORLD_INFO_GETTING',),
    'GetAvailableWorlds': ('AVAILABLE_WORLDS', 'WORLD_TAGS'),
}


def handlers_of(
    interfaces: Interfaces, control: SimulationControl, entities: Entities, simulator: Simulator
) -> dict[str, Handler]:
    """Return the handlers of all services in the installed version, by service type name."""
    handlers: dict[str, Handler] = {}
    for services in (
        SimulationServices(interfaces, control),
        EntityServices(interfaces, entities, simulator),
        SpawnServices(interfaces, entities, simulator),
        NamedPoseServices(interfaces, simulator),
    ):
        handlers.update(services.handlers())
    offered = {name: each for name, each in handlers.items() if hasattr(interfaces.srv, name)}
    offered['GetSimulatorFeatures'] = _tell_features(interfaces)
    return offered


def offered_names(interfaces: Interfaces) -> list[str]:
    """Return the services and actions in the installed version, for a node with a world."""
    return [
        name
        for name in FEATURES
        if hasattr(interfaces.action if name == STEPPING else interfaces.srv, name)
    ]


def offer_standard_services(
    node: GuardedMixin,
    services: DeferredServices,
    control: SimulationControl,
    entities: Entities,
    simulator: Simulator,
    calls: ExecutorCalls,
) -> None:
    """Create the services of simulation_interfaces; log a message if it is not installed."""
    interfaces = installed_interfaces()
    if interfaces is None:
        node.get_logger().info(
            'optional: no services of simulation_interfaces, since '
            + absence('simulation_interfaces')
        )
        return
    for kind, handler in handlers_of(interfaces, control, entities, simulator).items():
        for name in names_of(kind):
            services.create(getattr(interfaces.srv, kind), name, handler, refuse)
    if hasattr(interfaces.action, STEPPING):
        for name in names_of(STEPPING):
            SteppingAction(
                node, getattr(interfaces.action, STEPPING), name, services, control, calls
            )


def features_message(interfaces: Interfaces, names: Iterable[str]) -> Any:
    """Return the SimulatorFeatures implied by some services and actions."""
    known = interfaces.msg.SimulatorFeatures
    return known(
        features=sorted(
            getattr(known, feature)
            for name in names
            for feature in FEATURES[name]
            if hasattr(known, feature)
        ),
        spawn_formats=list(SPAWN_FORMATS),
        custom_info=f'sim_bridge {__version__}; services are named after their types, in the '
        'namespace of the node and below the node; a reset of the time sets /clock back',
    )


def _tell_features(interfaces: Interfaces) -> Handler:
    features = features_message(interfaces, offered_names(interfaces))

    def tell(request: Any, response: Any, answer: Answer) -> None:
        response.features = features
        answer(response)

    return tell
