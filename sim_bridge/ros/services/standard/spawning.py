"""Standard services that spawn and delete entities."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from sim_bridge.description import DescriptionError, shipped_robots
from sim_bridge.description.formats import format_of, OPENPLX
from sim_bridge.description.openplx.bundles import has_bundles
from sim_bridge.foundation.errors import ErrorCode, SimBridgeError, UnknownNameError
from sim_bridge.ros.services.standard.interfaces import (
    agree,
    fill_bounds,
    NOT_FOUND,
    OK,
    OPERATION_FAILED,
    say,
)
from sim_bridge.ros.session.spawn_request import SpawnRequest

if TYPE_CHECKING:
    import numpy as np

    from sim_bridge.ros.process.deferred import Answer, Handler
    from sim_bridge.ros.services.entities import Entities
    from sim_bridge.ros.services.standard.interfaces import Interfaces
    from sim_bridge.ros.session.simulator import Simulator

SPAWN_FORMATS = ('urdf', 'xacro', 'sdf', 'mjcf', 'usd', 'body', 'wrl', 'openplx')

NAME_NOT_UNIQUE, NAME_INVALID, UNSUPPORTED_FORMAT, NO_RESOURCE = 101, 102, 103, 104
NAMESPACE_INVALID, RESOURCE_PARSE_ERROR, MISSING_ASSETS, UNSUPPORTED_ASSETS = 105, 106, 107, 108
INVALID_POSE, ENTITIES_SPAWN_FAILED = 109, 150


class SpawnServices:
    """SpawnEntity, SpawnEntities, DeleteEntity and GetSpawnables."""

    def __init__(self, interfaces: Interfaces, entities: Entities, simulator: Simulator) -> None:
        """Prepare."""
        self._msg, self._entities, self._simulator = interfaces.msg, entities, simulator

    def handlers(self) -> dict[str, Handler]:
        """Return the handlers by service type name."""
        return {
            'SpawnEntity': self._spawn,
            'SpawnEntities': self._spawn_several,
            'DeleteEntity': self._delete,
            'GetSpawnables': self._spawnables,
        }

    def _spawn(self, request: Any, response: Any, answer: Answer) -> None:
        def on_done(outcome: str | SimBridgeError) -> None:
            answer(self._tell(outcome, response))

        self._entities.spawn(_request_of(request), on_done)

    def _spawn_several(self, request: Any, response: Any, answer: Answer) -> None:
        waiting = list(request.spawn_requests)
        results: list[Any] = []

        def on_done(outcome: str | SimBridgeError) -> None:
            results.append(self._tell(outcome, self._msg.SpawnResult()))
            if len(results) < len(waiting):
                self._entities.spawn(_request_of(waiting[len(results)]), on_done)
                return
            response.results = results
            # a message alone is no failure: it names the entities of a scene
            failed = [each for each in results if each.result.result != OK]
            if failed:
                say(
                    response,
                    ENTITIES_SPAWN_FAILED,
                    f'{len(failed)} of {len(results)} were not spawned; see results',
                )
            else:
                agree(response)
            answer(response)

        if waiting:
            self._entities.spawn(_request_of(waiting[0]), on_done)
        else:
            answer(agree(response))

    def _tell(self, outcome: str | SimBridgeError, response: Any) -> Any:
        if isinstance(outcome, SimBridgeError):
            return say(response, spawn_code(outcome), str(outcome))
        response.entity_name = outcome
        # makes the entity visible even while the simulation stands still
        self._simulator.publish_state()
        parts = self._entities.parts(outcome)
        return agree(
            response,
            ''
            if parts in ([], [outcome])
            else (
                f'{outcome!r} is a scene with the entities {", ".join(parts)}; DeleteEntity with '
                'the name of the scene removes all of them'
            ),
        )

    def _delete(self, request: Any, response: Any, answer: Answer) -> None:
        self._entities.remove(request.entity)
        self._simulator.publish_state()
        answer(agree(response))

    def _spawnables(self, request: Any, response: Any, answer: Answer) -> None:
        sources = list(request.sources)

        def on_done(boxes: dict[str, np.ndarray | None] | SimBridgeError) -> None:
            if isinstance(boxes, SimBridgeError):
                answer(say(response, OPERATION_FAILED, str(boxes)))
                return
            for name, box in boxes.items():
                spawnable = self._msg.Spawnable(description=f'{name}, shipped with sim_bridge')
                getattr(spawnable, 'entity_resource', spawnable).uri = name
                fill_bounds(spawnable.spawn_bounds, box)
                response.spawnables.append(spawnable)
            answer(
                agree(response, (f'sources not searched: {", ".join(sources)}' if sources else ''))
            )

        self._entities.measure(
            {
                name: file
                for name, file in shipped_robots().items()
                if format_of(file) is not OPENPLX or has_bundles()
            },
            on_done,
        )


_CODES = {
    ErrorCode.NAME_INVALID: NAME_INVALID,
    ErrorCode.NAME_TAKEN: NAME_NOT_UNIQUE,
    ErrorCode.NAMESPACE_INVALID: NAMESPACE_INVALID,
    ErrorCode.POSE_INVALID: INVALID_POSE,
    ErrorCode.RESOURCE_MISSING: NO_RESOURCE,
    ErrorCode.RESOURCE_NOT_FOUND: NOT_FOUND,
    ErrorCode.RESOURCE_UNREADABLE: UNSUPPORTED_FORMAT,
}


def spawn_code(error: SimBridgeError) -> int:
    """Return the standard's result code for a failed spawn request."""
    if isinstance(error, DescriptionError):
        codes = {finding.code for finding in error.report.errors}
        if 'mesh-not-found' in codes:
            return MISSING_ASSETS
        return UNSUPPORTED_ASSETS if 'mesh-unreadable' in codes else RESOURCE_PARSE_ERROR
    if error.code is not None:
        return _CODES[error.code]
    return NOT_FOUND if isinstance(error, UnknownNameError) else OPERATION_FAILED


def _request_of(request: Any) -> SpawnRequest:
    """Return the spawn request in a service request of any version, or in a part of one."""
    resource = getattr(request, 'entity_resource', request)
    pose = request.initial_pose.pose
    p, q = pose.position, pose.orientation
    return SpawnRequest(
        resource=resource.uri or resource.resource_string,
        name=request.name,
        allow_renaming=request.allow_renaming,
        namespace=request.entity_namespace,
        position=(p.x, p.y, p.z),
        orientation=(q.x, q.y, q.z, q.w),
        frame=request.initial_pose.header.frame_id,
    )
