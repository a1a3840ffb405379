"""Gazebo's plugins for ros2_control: controller manager, and its parameter files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from sim_bridge.description.report import Findings, Place
from sim_bridge.description.resources import explain_unresolved, resolve_uri
from sim_bridge.description.ros2_control import ControllerManagerDescription
from sim_bridge.description.sdf.plugin_topics import name_in, PluginTopics, topics_of
from sim_bridge.description.sdf.plugins import CONTROL_PLUGINS
from sim_bridge.description.xml.document import Element

# tags for the manager's node name, in the order of the plugins' releases
_NAMES = (
    'controller_manager_name',
    'controller_manager_node_name',
    'controller_manager_prefix_node_name',
)


@dataclass(frozen=True)
class ControlPlugin:
    """
    Plugin with a controller manager.

    manager: name, namespace and remappings, without controllers. files: paths of its parameter
    files, by their names in the robot's file; at least one.
    """

    manager: ControllerManagerDescription
    files: Mapping[str, Path]
    place: Place


def control_plugins(
    root: Element, base: Path | None, package_paths: Sequence[str | Path], findings: Findings
) -> Iterator[ControlPlugin]:
    """
    Yield the plugins for ros2_control that name a parameter file; a missing file is a warning.

    base: folder for relative paths. package_paths: see `load_description`.
    """
    for gazebo in root.findall('gazebo'):
        for node in gazebo.findall('plugin'):
            if not any(word in node.get('filename', '') for word in CONTROL_PLUGINS):
                continue
            files = dict(_files(node, base, package_paths, findings))
            if files:
                place = Place('gazebo/plugin', node.get('name', ''), node.line)
                yield ControlPlugin(_manager(node), files, place)


def _manager(node: Element) -> ControllerManagerDescription:
    topics = topics_of(node)
    names = [name_in(child) for child in node if child.tag in _NAMES]
    return ControllerManagerDescription(
        next(filter(None, names), ControllerManagerDescription.name),
        topics.namespace,
        remappings=_full(topics),
        line=node.line,
    )


def _full(topics: PluginTopics) -> Mapping[str, str]:
    """Return the remappings with full names."""

    def full(name: str) -> str:
        return '/' + topics.resolved(name).lstrip('/')

    return MappingProxyType({full(old): full(new) for old, new in topics.remappings.items()})


def _files(
    node: Element, base: Path | None, package_paths: Sequence[str | Path], findings: Findings
) -> Iterator[tuple[str, Path]]:
    """Yield the parameter files: name as written, and path."""
    for child in node.findall('parameters'):
        place = Place('gazebo/plugin/parameters', node.get('name', ''), child.line)
        name = name_in(child)
        path = resolve_uri(name, base=base, package_paths=package_paths)
        if path is not None:
            yield name, path
            continue
        reason = explain_unresolved(name, base=base, package_paths=package_paths)
        findings.warning(
            'unread-controllers', place, f'controllers are not read: {reason}', value=name
        )
