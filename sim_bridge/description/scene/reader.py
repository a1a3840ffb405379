"""The contract of world readers: a source in, a scene and its defects out."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import cast, Protocol

from sim_bridge.description.formats import FileFormat, format_of
from sim_bridge.description.reader import Source
from sim_bridge.description.report import Findings
from sim_bridge.description.resources import names_gallery_scene
from sim_bridge.description.scene.model import SceneDescription


class WorldReader(Protocol):
    """Module that reads worlds in one format."""

    def read_world(self, source: Source, findings: Findings) -> SceneDescription | None:
        """
        Return a world; None if nothing in it can be read.

        Every defect is among the findings, with its line; no exception is raised for a defect.
        `files` has all files read. A robot contained in the file is in `SceneRobot.description`.
        """

    def holds_world(self, source: Source) -> bool:
        """Return whether a file holds a world; needed only for formats with robots as well."""


def world_reader(chosen: FileFormat) -> WorldReader:
    """Return the reader for a format with worlds, imported at its first use."""
    return cast('WorldReader', importlib.import_module(chosen.worlds))


def is_world(source: str | Path) -> bool:
    """Return whether a path names a world, or a gallery scene, and not a robot."""
    if names_gallery_scene(str(source)):
        return True
    chosen = format_of(source)
    if not chosen.worlds or not chosen.robots:
        return bool(chosen.worlds)
    return world_reader(chosen).holds_world(Source(source))
