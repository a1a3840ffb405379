"""
Stand-ins for the messages of simulation_interfaces, which is not to be had as a wheel.

They have the fields and constants of the standard that its users rely on, in the forms of its
versions 1.x and 2.1; what is in them of geometry_msgs and std_msgs is the real thing.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from geometry_msgs.msg import Accel, Pose, PoseStamped, Twist, Vector3
from std_msgs.msg import Header

from sim_bridge.ros.services.standard.interfaces import Interfaces


class Message:
    """A message of the FIELDS given, each by what makes its default; a list's makes an item."""

    FIELDS: dict[str, Any] = {}

    def __init__(self, **values: Any) -> None:
        for name, make in self.FIELDS.items():
            default = [] if isinstance(make, list) else make()
            setattr(self, name, values.pop(name, default))
        assert not values, f'no fields of {type(self).__name__}: {values}'


def message(
    kind: str, constants: dict[str, int] | None = None, /, **fields: Any
) -> type[Message]:
    """Make a type of messages."""
    return type(kind, (Message,), {'FIELDS': fields, **(constants or {})})


def service(name: str, request: dict[str, Any], response: dict[str, Any]) -> SimpleNamespace:
    """Make a type of services."""
    return SimpleNamespace(
        NAME=name, Request=message(f'{name}_Request', **request),
        Response=message(f'{name}_Response', **response))


FEATURES = dict(enumerate((
    'SPAWNING', 'DELETING', 'NAMED_POSES', 'POSE_BOUNDS', 'ENTITY_TAGS', 'ENTITY_BOUNDS',
    'ENTITY_BOUNDS_BOX', 'ENTITY_BOUNDS_CONVEX', 'ENTITY_CATEGORIES', 'SPAWNING_RESOURCE_STRING',
    'ENTITY_STATE_GETTING', 'ENTITY_STATE_SETTING', 'ENTITY_INFO_GETTING', 'ENTITY_INFO_SETTING',
    'SPAWNABLES')))
FEATURES |= dict(enumerate((
    'SIMULATION_RESET', 'SIMULATION_RESET_TIME', 'SIMULATION_RESET_STATE',
    'SIMULATION_RESET_SPAWNED', 'SIMULATION_STATE_GETTING', 'SIMULATION_STATE_SETTING',
    'SIMULATION_STATE_PAUSE'), 20))
FEATURES |= dict(enumerate((
    'STEP_SIMULATION_SINGLE', 'STEP_SIMULATION_MULTIPLE', 'STEP_SIMULATION_ACTION'), 31))


def make_interfaces(version: str) -> Interfaces:
    """Return the stand-ins of a version: '1.0', '1.5' or '2.1'."""
    is_second = version >= '2'
    features = {name: number for number, name in FEATURES.items()}
    if version != '1.0':
        features['SPAWNING_ENTITIES'] = 50
    result = message('Result', result=int, error_message=str)
    state = message('SimulationState', {
        'STATE_STOPPED': 0, 'STATE_PLAYING': 1, 'STATE_PAUSED': 2, 'STATE_QUITTING': 3}, state=int)
    entity_state = message(
        'EntityState', header=Header, pose=Pose, twist=Twist, acceleration=Accel)
    category = message('EntityCategory', {
        'CATEGORY_OBJECT': 0, 'CATEGORY_ROBOT': 1, 'CATEGORY_HUMAN': 2,
        'CATEGORY_DYNAMIC_OBJECT': 4, 'CATEGORY_STATIC_OBJECT': 5}, category=int)
    info = message('EntityInfo', category=category, description=str, tags=[str])
    bounds = message('Bounds', {
        'TYPE_EMPTY': 0, 'TYPE_BOX': 1, 'TYPE_CONVEX_HULL': 2, 'TYPE_SPHERE': 3},
        type=int, points=[Vector3])
    tags = message('TagsFilter', tags=[str], filter_mode=int)
    filters = message(
        'EntityFilters', filter=str, categories=[category], tags=tags, bounds=bounds)
    resource = message('Resource', uri=str, resource_string=str)
    texts = {'uri': str, 'resource_string': str}
    spawn_fields = {
        'name': str, 'allow_renaming': bool, 'entity_namespace': str, 'initial_pose': PoseStamped}
    spawn = message('SpawnEntity', entity_resource=resource, **spawn_fields)
    spawn_result = message('SpawnResult', result=result, entity_name=str)
    spawnable = message('Spawnable', description=str, spawn_bounds=bounds, **(
        {'entity_resource': resource} if is_second else {'uri': str}))
    flags = dict.fromkeys(('set_pose', 'set_twist', 'set_acceleration'), bool)
    answer: dict[str, Callable[[], Any]] = {'result': result}
    services = [
        service('SpawnEntity', {
            **spawn_fields, **({'entity_resource': resource} if is_second else texts)},
            {**answer, 'entity_name': str}),
        service('DeleteEntity', {'entity': str}, answer),
        service('GetSpawnables', {'sources': [str]}, {**answer, 'spawnables': [spawnable]}),
        service('GetEntities', {'filters': filters}, {**answer, 'entities': [str]}),
        service('GetEntitiesStates', {'filters': filters}, {
            **answer, 'entities': [str], 'states': [entity_state]}),
        service('GetEntityState', {'entity': str}, {**answer, 'state': entity_state}),
        service('SetEntityState', {
            'entity': str, 'state': entity_state, **(flags if is_second else {})}, answer),
        service('GetEntityInfo', {'entity': str}, {**answer, 'info': info}),
        service('GetEntityBounds', {'entity': str}, {**answer, 'bounds': bounds}),
        service('ResetSimulation', {'scope': int}, answer),
        service('GetSimulationState', {}, {**answer, 'state': state}),
        service('SetSimulationState', {'state': state}, answer),
        service('StepSimulation', {'steps': lambda: 1}, answer),
        service('GetSimulatorFeatures', {}, {
            'features': message(
                'SimulatorFeatures', features, features=[int], spawn_formats=[str],
                custom_info=str)}),
    ]
    if version != '1.0':
        services.append(service('SpawnEntities', {'spawn_requests': [spawn]}, {
            **answer, 'results': [spawn_result]}))
    features_type = message('SimulatorFeatures', features)
    msg = SimpleNamespace(
        Result=result, SimulationState=state, EntityState=entity_state, EntityCategory=category,
        EntityInfo=info, Bounds=bounds, Resource=resource, SpawnEntity=spawn,
        SpawnResult=spawn_result, Spawnable=spawnable, SimulatorFeatures=features_type)
    return Interfaces(msg, SimpleNamespace(**{each.NAME: each for each in services}), None)


def to_plain(value: Any) -> Any:
    """Turn a message, a stand-in or a real one, into what JSON holds."""
    if isinstance(value, Message):
        return {name: to_plain(getattr(value, name)) for name in value.FIELDS}
    if hasattr(value, 'get_fields_and_field_types'):
        return {name: to_plain(getattr(value, name))
                for name in value.get_fields_and_field_types()}
    return [to_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def fill(target: Any, values: dict[str, Any]) -> Any:
    """Write what JSON held into a message."""
    for name, value in values.items():
        now = getattr(target, name)
        if isinstance(value, dict):
            fill(now, value)
        elif value and isinstance(value, list) and isinstance(value[0], dict):
            setattr(target, name, [fill(target.FIELDS[name][0](), one) for one in value])
        else:
            setattr(target, name, type(now)(value))
    return target
