"""
World resources of simulation_interfaces: their names, texts, files and errors.

A world is a scene file (YAML, SDF, MJCF, USD or a Choreonoid project), an OpenPLX file, a
shipped scene gallery/NAME, or the text of a YAML scene.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sim_bridge.description.formats import format_of, is_xml_text, OPENPLX, WORLD_SUFFIXES, YAML
from sim_bridge.description.report import DescriptionError
from sim_bridge.description.resources import (
    explain_unresolved,
    find_scene,
    gallery_scenes,
    names_gallery_scene,
    PARAMETERS_SUFFIX,
    resolve_uri,
    searched_paths,
)
from sim_bridge.description.scene.load import read_scene
from sim_bridge.description.scene.model import SceneDescription
from sim_bridge.description.scene.reader import is_world
from sim_bridge.description.scene.robots import robot_described
from sim_bridge.foreign.yaml_text import load_yaml, YamlTextError
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError, UnknownNameError
from sim_bridge.ros.services.standard.interfaces import NOT_FOUND, OPERATION_FAILED

# result codes of LoadWorld
UNSUPPORTED_FORMAT, NO_RESOURCE, RESOURCE_PARSE_ERROR = 101, 102, 103
MISSING_ASSETS, UNSUPPORTED_ASSETS, UNSUPPORTED_ELEMENTS = 104, 105, 106

_SUFFIXES = (*WORLD_SUFFIXES, *OPENPLX.suffixes, '.xml')


class WorldError(SimBridgeError):
    """A world cannot be loaded; result: code in the response of LoadWorld."""

    def __init__(self, result: int, message: str) -> None:
        super().__init__(message)
        self.result = result


class WorldInfo(NamedTuple):
    """A world for clients. uri: '' for a text, which is then in `text`."""

    name: str
    uri: str
    text: str = ''
    description: str = ''
    tags: tuple[str, ...] = ()

    def message(self, kind: Any) -> Any:
        """Return a WorldResource; kind: its class."""
        made = kind(name=self.name, description=self.description, tags=list(self.tags))
        made.world_resource.uri, made.world_resource.resource_string = self.uri, self.text
        return made


@dataclass(frozen=True)
class WorldSource:
    """
    A checked resource, ready to be loaded.

    parameters: of the node, by name, for this world. info: for clients.
    """

    parameters: Mapping[str, Any]
    info: WorldInfo


def world_source(
    resource: Any,
    folder: Path,
    package_paths: Iterable[str | Path],
    *,
    refuses_unsupported: bool,
    ignores_assets: bool,
) -> WorldSource:
    """
    Check a Resource, and return the node's parameters for its world.

    folder: for the file of a text. refuses_unsupported: whether parts of robots without
    simulation are errors. ignores_assets: whether robots may lack meshes. Raises WorldError.
    """
    text = resource.resource_string
    if not resource.uri and not text.strip():
        raise WorldError(NO_RESOURCE, 'both uri and resource_string are empty')
    if resource.uri:
        name, path = resource.uri, _file_of(resource.uri, package_paths)
    else:
        name, path = '', _file_of_text(text, folder)
    if format_of(path) is OPENPLX:
        return WorldSource({'robot': str(path)}, WorldInfo(path.stem, resource.uri))
    given = name if names_gallery_scene(name) else str(path)
    scene = _read(path, package_paths)
    if refuses_unsupported:
        _check_elements(scene, package_paths)
    values = ''
    if ignores_assets and format_of(path) is YAML:
        values = _without_assets(scene)
    info = WorldInfo(
        name if names_gallery_scene(name) else path.stem,
        resource.uri,
        '' if resource.uri else text,
        scene.description,
        scene.tags,
    )
    return WorldSource({'world': given, 'world_values': values}, info)


def load_code(error: SimBridgeError) -> int:
    """Return the result code of LoadWorld for an error."""
    if isinstance(error, WorldError):
        return error.result
    if isinstance(error, DescriptionError):
        codes = {finding.code for finding in error.report.errors}
        if 'mesh-not-found' in codes:
            return MISSING_ASSETS
        return UNSUPPORTED_ASSETS if 'mesh-unreadable' in codes else RESOURCE_PARSE_ERROR
    return OPERATION_FAILED


def shipped_worlds() -> list[WorldInfo]:
    """Return the shipped scenes."""
    return [_info(name, name, path) for name, path in gallery_scenes().items()]


def worlds_in(source: str, package_paths: Iterable[str | Path]) -> list[WorldInfo]:
    """
    Return the worlds in a folder or a file, given by its path or URI.

    Raises InvalidValueError for a missing source.
    """
    searched = searched_paths(source, package_paths=package_paths)
    folder = next((path for path in searched if path.is_dir()), None)
    if folder is not None:
        return list(_worlds_below(folder))
    path = resolve_uri(source, package_paths=package_paths)
    if path is None:
        raise InvalidValueError('source', source, 'a folder or a file that exists')
    return [_info(path.stem, str(path), path)] if _is_world(path) else []


def _worlds_below(folder: Path) -> Iterator[WorldInfo]:
    for path in sorted(folder.iterdir()):
        if path.suffix in _SUFFIXES and path.is_file() and _is_world(path):
            yield _info(path.stem, str(path.resolve()), path)


def _is_world(path: Path) -> bool:
    """Return whether a file is a world; a YAML file is one if it has the key world."""
    chosen = format_of(path)
    if chosen is not YAML:
        return chosen is OPENPLX or is_world(path)
    is_scene = not path.name.endswith(PARAMETERS_SUFFIX)
    return is_scene and isinstance(_content(path).get('world'), Mapping)


def _info(name: str, uri: str, path: Path) -> WorldInfo:
    """Return a world's name, description and tags, without reading its robots."""
    world = _content(path).get('world') if format_of(path) is YAML else None
    given = world if isinstance(world, Mapping) else {}
    tags = given.get('tags')
    description = given.get('description', '')
    return WorldInfo(
        name,
        uri,
        description=description if isinstance(description, str) else '',
        tags=tuple(map(str, tags)) if isinstance(tags, (list, tuple)) else (),
    )


def _content(path: Path) -> Mapping[str, Any]:
    """Return a YAML file's content; empty for another file."""
    try:
        content = load_yaml(path.read_bytes())
    except (YamlTextError, OSError):
        return {}
    return content if isinstance(content, Mapping) else {}


def _file_of(uri: str, package_paths: Iterable[str | Path]) -> Path:
    if names_gallery_scene(uri):
        try:
            return find_scene(uri)
        except UnknownNameError as err:
            raise WorldError(NOT_FOUND, str(err)) from None
    path = resolve_uri(uri, package_paths=package_paths)
    if path is None:
        message = explain_unresolved(uri, package_paths=package_paths)
        raise WorldError(NOT_FOUND, f'uri = {uri!r}: {message}')
    if path.suffix not in _SUFFIXES and not format_of(path).worlds:
        accepted = ', '.join(_SUFFIXES)
        message = f'uri = {uri!r}: expected one of {accepted}, or gallery/NAME'
        raise WorldError(UNSUPPORTED_FORMAT, message)
    return path.resolve()


def _file_of_text(text: str, folder: Path) -> Path:
    """Write a world's text to a file, and return its path."""
    suffix = YAML.suffixes[0]
    if is_xml_text(text):
        chosen = format_of(text)
        if not chosen.worlds:
            message = (
                'resource_string: expected a YAML scene or a world in SDF; '
                'spawn URDF by SpawnEntity'
            )
            raise WorldError(UNSUPPORTED_FORMAT, message)
        suffix = chosen.suffixes[0]
    # a refused text must not replace the file of the present world
    import tempfile  # late import: most nodes never need it

    path = Path(tempfile.mkdtemp(dir=folder)) / f'world{suffix}'
    path.write_text(text, encoding='utf-8')
    return path


def _read(path: Path, package_paths: Iterable[str | Path]) -> SceneDescription:
    try:
        return read_scene(path, package_paths=package_paths)
    except SimBridgeError as err:
        is_described = isinstance(err, DescriptionError)
        raise WorldError(
            load_code(err) if is_described else RESOURCE_PARSE_ERROR, str(err)
        ) from err


def _check_elements(scene: SceneDescription, package_paths: Iterable[str | Path]) -> None:
    """Raise WorldError if the world or a robot has parts without simulation."""
    reports = {'the world': scene.report}
    for robot in scene.robots:
        reports[f'robot {robot.name!r}'] = robot_described(robot, package_paths).report
    for subject, report in reports.items():
        if report.not_simulated:
            lines = '; '.join(f'{each.subject}: {each.message}' for each in report.not_simulated)
            message = f'{subject} has parts without simulation: {lines}'
            raise WorldError(UNSUPPORTED_ELEMENTS, message)


def _without_assets(scene: SceneDescription) -> str:
    """Return values of the scene that let its robots lack meshes, as YAML."""
    items = [f"'robots.{each.name}.missing_meshes': warning" for each in scene.robots]
    return f'{{{", ".join(items)}}}' if items else ''
