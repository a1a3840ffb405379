"""
Services of simulation_interfaces that change the world: it is unloaded, and another is loaded.

They outlive each world. Without a world, the other services of the standard refuse all requests,
except those for the state and the features.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
import signal
from typing import Any, Protocol, TYPE_CHECKING

from sim_bridge.foundation.errors import SimBridgeError
from sim_bridge.ros.process.entity_scope import EntityScope
from sim_bridge.ros.services.standard.interfaces import (
    agree,
    INCORRECT_STATE,
    installed_interfaces,
    names_of,
    NOT_FOUND,
    OPERATION_FAILED,
    passes_tags,
    say,
)
from sim_bridge.ros.services.standard.offer import FEATURES, features_message, offered_names
from sim_bridge.ros.services.standard.worlds import (
    load_code,
    shipped_worlds,
    world_source,
    WorldInfo,
    worlds_in,
)

if TYPE_CHECKING:
    import tempfile

    from sim_bridge.description.scene.model import SceneDescription
    from sim_bridge.ros.params.parameters import SimulatorParameters
    from sim_bridge.ros.process.polling import PollingMixin

_NO_WORLD_LOADED = 101
_NO_WORLD = 'no world is loaded; LoadWorld loads one'
# parameters that belong to the first world; a loaded one has them at their defaults
OF_FIRST_WORLD = (
    'world',
    'world_values',
    'robot',
    'model',
    'openplx_model',
    'robot_description',
    'robot_name',
    'xacro_args',
    'base',
    'position',
    'orientation',
    'joints',
    'initial_positions',
    'extra_joints',
    'sensors',
    'origin',
    'force_fields',
    'changes',
    'control',
    'gains',
    'lockstep',
    'drives',
    'trajectory_controllers',
)

_Callback = Callable[[Any, Any], Any]


class WorldProgram(Protocol):
    """
    A node's program, which loads and unloads worlds; see `SimBridge`.

    parameters: of the present world. scene: content of the present scene file, None for none.
    """

    parameters: SimulatorParameters
    scene: SceneDescription | None

    @property
    def node(self) -> PollingMixin:
        """The node with all topics and services."""

    @property
    def given_world(self) -> str:
        """The parameter `world`, whether or not another world was loaded since."""

    @property
    def has_world(self) -> bool:
        """Whether a world is loaded."""

    @property
    def why_no_loading(self) -> str:
        """Reason why no other world can be loaded now; '' for none."""

    def load_other(self, values: Mapping[str, Any]) -> None:
        """Load another world after `unload`; values: parameters by name. Raises SimBridgeError."""

    def unload(self) -> None:
        """Stop simulating, and destroy topics and services."""


class Worlds:
    """
    LoadWorld, UnloadWorld, GetCurrentWorld and GetAvailableWorlds, on the executor's thread.

    Other requests wait while a world is being loaded.
    """

    def __init__(self, program: WorldProgram) -> None:
        """Create the services, if simulation_interfaces is installed."""
        self._program, self._node = program, program.node
        self._current: WorldInfo | None = None
        self._is_unloaded = False
        self._without_world = EntityScope(self._node)
        self._texts: tempfile.TemporaryDirectory[str] | None = None
        interfaces = installed_interfaces()
        if interfaces is not None:
            self._interfaces = interfaces
            self._create(
                {
                    'LoadWorld': self._load,
                    'UnloadWorld': self._unload,
                    'GetCurrentWorld': self._tell_current,
                    'GetAvailableWorlds': self._list,
                }
            )

    @property
    def is_unloaded(self) -> bool:
        """Whether UnloadWorld, or a failed LoadWorld, has left the node without a world."""
        return self._is_unloaded

    def forget(self) -> None:
        """Destroy the services without a world, before the node loads or ends its own."""
        self._is_unloaded, self._current = False, None
        self._without_world.destroy()

    # --- services --------------------------------------------------------------------------------

    def _load(self, request: Any, response: Any) -> Any:
        resource = getattr(request, 'world_resource', request)
        refusal = self._program.why_no_loading
        if refusal:
            return say(response, INCORRECT_STATE, refusal)
        source = world_source(
            resource,
            self._folder_for_texts(),
            self._program.parameters.package_paths,
            refuses_unsupported=request.fail_on_unsupported_element,
            ignores_assets=request.ignore_missing_or_unsupported_assets,
        )
        self._clear()
        try:
            self._program.load_other({**dict.fromkeys(OF_FIRST_WORLD), **source.parameters})
        except SimBridgeError:
            self._program.unload()
            self._offer_without_world()
            raise
        self._current = source.info
        response.world = source.info.message(self._interfaces.msg.WorldResource)
        return agree(response)

    def _unload(self, request: Any, response: Any) -> Any:
        if not self._program.has_world:
            return say(response, _NO_WORLD_LOADED, _NO_WORLD)
        if self._program.why_no_loading:
            return say(response, INCORRECT_STATE, self._program.why_no_loading)
        self._clear()
        self._offer_without_world()
        return agree(response)

    def _tell_current(self, request: Any, response: Any) -> Any:
        if not self._program.has_world:
            return say(response, _NO_WORLD_LOADED, _NO_WORLD)
        response.world = self._present().message(self._interfaces.msg.WorldResource)
        return agree(response)

    def _list(self, request: Any, response: Any) -> Any:
        found, missing = shipped_worlds() + self._beside(), []
        for source in request.additional_sources:
            try:
                found += worlds_in(source, self._program.parameters.package_paths)
            except (SimBridgeError, OSError) as err:
                missing.append(str(err))
        kind = self._interfaces.msg.WorldResource
        known = {each.uri: each for each in found if passes_tags(request.filter, each.tags)}
        response.worlds = [each.message(kind) for each in known.values()]
        if missing and not request.continue_on_error:
            return say(response, NOT_FOUND, '; '.join(missing))
        return agree(response, '; '.join(missing))

    # --- inside ----------------------------------------------------------------------------------

    def _create(self, callbacks: Mapping[str, _Callback]) -> None:
        """Create the services that the installed version has, each by both names."""
        for kind, callback in callbacks.items():
            service = getattr(self._interfaces.srv, kind, None)
            for name in names_of(kind) if service is not None else ():
                self._node.create_service(service, name, _refusing(callback))

    def _clear(self) -> None:
        """Unload the world, or the services without one."""
        self.forget()
        self._program.unload()

    def _offer_without_world(self) -> None:
        """Offer the services of the standard while there is no world."""
        srv = self._interfaces.srv
        self._is_unloaded = True
        names = [name for name in FEATURES if hasattr(srv, name) and not _is_own(name)]
        with self._without_world.collecting():
            self._create(
                {
                    **dict.fromkeys(names, _without_world),
                    'GetSimulationState': self._tell_state,
                    'SetSimulationState': self._set_state,
                    'GetSimulatorFeatures': self._tell_features,
                }
            )

    def _tell_features(self, request: Any, response: Any) -> Any:
        names = offered_names(self._interfaces)
        response.features = features_message(self._interfaces, names)
        return response

    def _tell_state(self, request: Any, response: Any) -> Any:
        state = self._interfaces.msg.SimulationState
        # version 1.0 has no such state
        response.state.state = getattr(state, 'STATE_NO_WORLD', state.STATE_STOPPED)
        return agree(response)

    def _set_state(self, request: Any, response: Any) -> Any:
        if request.state.state == self._interfaces.msg.SimulationState.STATE_QUITTING:
            signal.raise_signal(signal.SIGTERM)
            return agree(response)
        return _without_world(request, response)

    def _present(self) -> WorldInfo:
        """Return the present world: one from LoadWorld, or that of the parameters."""
        if self._current is not None:
            return self._current
        parameters, scene = self._program.parameters, self._program.scene
        if scene is None:
            robot = 'robot_description' if parameters.robot_description else parameters.own_robot
            return WorldInfo('default', '', description=f'{Path(robot).stem} without a scene file')
        name = parameters.world
        return WorldInfo(
            name if name.startswith('gallery/') else Path(name).stem,
            name,
            description=scene.description,
            tags=scene.tags,
        )

    def _beside(self) -> list[WorldInfo]:
        """Return the worlds in the folder of the parameter `world`, if that is a file."""
        world = self._program.given_world
        folder = Path(world).parent if world and not world.startswith('gallery/') else None
        return worlds_in(str(folder), ()) if folder is not None and folder.is_dir() else []

    def _folder_for_texts(self) -> Path:
        if self._texts is None:
            import tempfile  # late import: most nodes never need it

            self._texts = tempfile.TemporaryDirectory(prefix='sim_bridge_world_')
        return Path(self._texts.name)


def _is_own(name: str) -> bool:
    return name in ('LoadWorld', 'UnloadWorld', 'GetCurrentWorld', 'GetAvailableWorlds')


def _refusing(callback: _Callback) -> _Callback:
    """Return a callback that puts errors into the response."""

    def answer(request: Any, response: Any) -> Any:
        try:
            return callback(request, response)
        except SimBridgeError as err:
            return say(response, load_code(err), str(err))
        except OSError as err:
            return say(response, OPERATION_FAILED, str(err))

    return answer


def _without_world(request: Any, response: Any) -> Any:
    return say(response, INCORRECT_STATE, _NO_WORLD)
