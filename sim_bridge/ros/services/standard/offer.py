"""The offered standard services, and their features for GetSimulatorFeatures."""

from __future__ import annotations

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
    'GetEntityBounds': ('ENTITY_BOUNDS',),
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
    ):
        handlers.update(services.handlers())
    offered = {name: each for name, each in handlers.items() if hasattr(interfaces.srv, name)}
    names = [*offered, *([STEPPING] if hasattr(interfaces.action, STEPPING) else [])]
    offered['GetSimulatorFeatures'] = _tell_features(interfaces, names)
    return offered


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


def _tell_features(interfaces: Interfaces, names: list[str]) -> Handler:
    known = interfaces.msg.SimulatorFeatures
    features = sorted(
        getattr(known, feature)
        for name in names
        for feature in FEATURES[name]
        if hasattr(known, feature)
    )

    def tell(request: Any, response: Any, answer: Answer) -> None:
        response.features.features = features
        response.features.spawn_formats = list(SPAWN_FORMATS)
        response.features.custom_info = (
            f'sim_bridge {__version__}; services are named after their types, in the namespace of '
            'the node and below the node; a reset of the time sets /clock back'
        )
        answer(response)

    return tell
