"""
The contract of robot readers: a source in, a plain description and its defects out.

`description.formats` lists the readers; docs/extending/reader.md has the steps for a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import importlib
from pathlib import Path
from types import MappingProxyType
from typing import cast, Protocol

from sim_bridge.description.formats import FileFormat, is_xml_text
from sim_bridge.description.model import RobotDescription
from sim_bridge.description.report import Findings


@dataclass(frozen=True)
class Source:
    """
    Source for a reader.

    given: file path or XML text. xacro_args: argument values, by name. package_paths: folders
    searched for `package://` files, before those named by the environment. model: the model in a
    file with several models; '' for the only one.
    """

    given: str | Path
    xacro_args: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    package_paths: tuple[str | Path, ...] = ()
    model: str = ''

    @property
    def path(self) -> Path | None:
        """File path; None for a text."""
        return None if is_xml_text(self.given) else Path(self.given)

    @property
    def folder(self) -> Path | None:
        """Folder where relative paths start; None for a text."""
        return None if self.path is None else self.path.resolve().parent


class RobotReader(Protocol):
    """Module that reads robots in one format."""

    def read_robot(
        self, source: Source, findings: Findings
    ) -> tuple[RobotDescription | None, str]:
        """
        Return a robot, and the report's name for its source.

        The robot is the readable part of the description, None if there is none. Every defect is
        among the findings, with its line; no exception is raised for a defect. `format` names the
        format, `files` all files read, `xml` the robot's URDF. `load` locates mesh files and adds
        the user's sensors.
        """


def robot_reader(chosen: FileFormat) -> RobotReader:
    """Return the reader for a format with robots, imported at its first use."""
    return cast('RobotReader', importlib.import_module(chosen.robots))
