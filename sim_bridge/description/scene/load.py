"""Worlds in all formats; `description.formats` lists them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from sim_bridge.description.formats import format_of, YAML
from sim_bridge.description.reader import Source
from sim_bridge.description.report import Findings, SceneError
from sim_bridge.description.resources import find_scene
from sim_bridge.description.scene.model import SceneDescription
from sim_bridge.description.scene.reader import world_reader
from sim_bridge.description.scene.scene import read_yaml_scene
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import items_of


def read_scene(
    source: str | Path | Mapping[str, object],
    values: str = '',
    package_paths: Iterable[str | Path] = (),
) -> SceneDescription:
    """
    Read a world.

    source: path of a world file in one of `formats.FORMATS`; gallery/NAME for a shipped scene; or
    a mapping with the content of a YAML scene. values: replacements for values in a YAML scene, as
    in the node's parameter `world_values`; '' for none. package_paths: folders searched for
    `package://` files, before those named by the environment; YAML scenes name their own.

    Raises SceneError, with every defect, its place and the accepted values, UnknownNameError for a
    missing gallery scene, and InvalidValueError for `values`.
    """
    findings = Findings()
    package_paths = items_of('package_paths', package_paths, (str, Path), 'folders')
    scene: SceneDescription | None
    if isinstance(source, (str, Path)):
        label, scene = _read_file(find_scene(source), values, tuple(package_paths), findings)
    else:
        label, scene = '', read_yaml_scene(source, values, findings)
    report = findings.report(label if scene is None else scene.source)
    if scene is None or not report.ok:
        raise SceneError(report)
    return replace(scene, report=report)


def _read_file(
    path: Path, values: str, package_paths: tuple[str | Path, ...], findings: Findings
) -> tuple[str, SceneDescription | None]:
    """Return a world file's name for messages, and its content."""
    chosen = format_of(path)
    if chosen is YAML or not chosen.worlds:
        return str(path), read_yaml_scene(path, values, findings)
    if values:
        expected = f'none with a {chosen.name} file: only YAML scenes have values'
        raise InvalidValueError("parameter 'world_values'", values, expected)
    source = Source(path, package_paths=package_paths)
    return str(path), world_reader(chosen).read_world(source, findings)
