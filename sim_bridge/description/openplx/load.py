"""Loading an OpenPLX file into data for a world, with a report on every defect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sim_bridge.description.formats import format_of, OPENPLX
from sim_bridge.description.openplx.bundles import installed_bundles
from sim_bridge.description.openplx.evaluate import read_openplx
from sim_bridge.description.openplx.mapping.records import MappedScene
from sim_bridge.description.openplx.mapping.refusals import note_unsupported, REFUSED
from sim_bridge.description.openplx.mapping.scene import map_scene
from sim_bridge.description.report import Findings, Report, SceneError
from sim_bridge.description.resources import shipped_robots
from sim_bridge.foreign.files import noting_files
from sim_bridge.foreign.reader_process import sharing
from sim_bridge.foundation.errors import InvalidValueError


@sharing()
def examine_openplx(
    source: str | Path, model: str | None = None, *, bundle_paths: Sequence[str | Path] = ()
) -> tuple[MappedScene | None, Report]:
    """Return a scene (None if it has errors) and its report; arguments as in `load_openplx`."""
    findings = Findings()
    is_text = isinstance(source, str) and '\n' in source
    shipped = {} if is_text else _shipped_scenes()
    if str(source) in shipped and not Path(source).exists():
        source = shipped[str(source)]
    label = '<string>' if is_text else str(source)
    scene = None
    with noting_files() as read:
        root = read_openplx(
            source, model, bundle_paths=bundle_paths, findings=findings, refused=REFUSED
        )
        if root is not None:
            is_whole = findings.report(label).ok
            note_unsupported(root, findings)
            if is_whole and findings.report(label).ok:
                scene = map_scene(root, findings)
    report = findings.report(label)
    if scene is None:
        return None, report
    bundles = installed_bundles()
    own = {
        path: digest
        for path, digest in read.items()
        if bundles is None or not Path(path).is_relative_to(bundles.folder)
    }
    version = bundles.version if bundles is not None and len(own) < len(read) else ''
    return replace(scene, report=report, files=own, bundles=version), report


def _shipped_scenes() -> dict[str, Path]:
    """Return the files of the OpenPLX scenes among the shipped robots, by name."""
    return {name: path for name, path in shipped_robots().items() if format_of(path) is OPENPLX}


def load_openplx(
    source: str | Path, model: str | None = None, *, bundle_paths: Sequence[str | Path] = ()
) -> MappedScene:
    """
    Read a scene.

    source: file path, its text, or a shipped scene's name. model: name in the file; the last model
    if None. bundle_paths: bundle folders, searched before OPENPLX_BUNDLE_PATH and the installed
    bundles. Raises SceneError, with every defect, for a scene that cannot be simulated, and
    InvalidValueError for a source or model with another type.
    """
    if not isinstance(source, str | Path):
        raise InvalidValueError('path_or_text', source, 'the path of an OpenPLX file, or its text')
    if not isinstance(model, str | None):
        raise InvalidValueError('model', model, 'the name of a model, or None')
    scene, report = examine_openplx(source, model, bundle_paths=bundle_paths)
    if scene is None:
        raise SceneError(report)
    return scene
