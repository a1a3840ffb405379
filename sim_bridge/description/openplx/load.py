"""From an OpenPLX file to what a world adds, with a report of every defect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sim_bridge.description.openplx.evaluate import read_openplx
from sim_bridge.description.openplx.mapping.records import MappedScene
from sim_bridge.description.openplx.mapping.refusals import note_unsupported, REFUSED
from sim_bridge.description.openplx.mapping.scene import map_scene
from sim_bridge.description.report import Findings, Report, SceneError
from sim_bridge.foreign.reader_process import sharing


@sharing()
def examine_openplx(
    source: str | Path, model: str | None = None, *, bundle_paths: Sequence[str | Path] = ()
) -> tuple[MappedScene | None, Report]:
    """Return a scene, None if it has errors, and its report; as `load_openplx` otherwise."""
    findings = Findings()
    is_text = isinstance(source, str) and '\n' in source
    label = '<string>' if is_text else str(source)
    root = read_openplx(
        source, model, bundle_paths=bundle_paths, findings=findings, refused=REFUSED)
    scene = None
    if root is not None:
        is_whole = findings.report(label).ok
        note_unsupported(root, findings)
        if is_whole and findings.report(label).ok:
            scene = map_scene(root, findings)
    report = findings.report(label)
    return (None if scene is None else replace(scene, report=report)), report


def load_openplx(
    source: str | Path, model: str | None = None, *, bundle_paths: Sequence[str | Path] = ()
) -> MappedScene:
    """
    Read a scene.

    source: the path of a file, or its text. model: of the file; the last one if None.
    bundle_paths: folders of bundles, before those that OPENPLX_BUNDLE_PATH names and those that
    are installed. Raises SceneError, with every defect, for a scene that cannot be simulated.
    """
    scene, report = examine_openplx(source, model, bundle_paths=bundle_paths)
    if scene is None:
        raise SceneError(report)
    return scene
