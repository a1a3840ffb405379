"""Controllers declared for ros2_control's controller manager, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from sim_bridge.description.controller_settings import ControllerSettings


@dataclass(frozen=True, eq=False)
class ControllerDescription:
    """
    Controller with its own parameters.

    name: node name, unique in its manager. type: plugin name, such as
    'diff_drive_controller/DiffDriveController'. parameters: by key; dotted names are nested
    mappings. path, line: file with the type, and its line there. settings: checked parameters of a
    simulated kind, None for other kinds.
    """

    name: str
    type: str
    parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    path: str = ''
    line: int = 0
    settings: ControllerSettings | None = None


@dataclass(frozen=True, eq=False)
class ControllerManagerDescription:
    """
    Controller manager of a robot.

    name: node name; '' for the controller of another plugin, which nobody manages. namespace: for
    manager and controllers, without slashes at its ends; '' for none. update_rate: [Hz], 0 if the
    files give none. controllers: in the order of the files. remappings: new topic names by full
    topic name. line: the plugin's.
    """

    name: str = 'controller_manager'
    namespace: str = ''
    update_rate: float = 0.0
    controllers: tuple[ControllerDescription, ...] = ()
    remappings: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    line: int = 0

    def topic(self, name: str) -> str:
        """Return a topic's name after remapping. name: relative to the namespace, or full."""
        full = name if name.startswith('/') else f'{self.prefix}/{name}'
        return self.remappings.get(full, full if self.namespace else name)

    @property
    def prefix(self) -> str:
        """Namespace with a slash before it; '' for none."""
        return f'/{self.namespace}' if self.namespace else ''
