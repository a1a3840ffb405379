"""Folder for meshes without a file: RViz finds a robot's appearance there."""

from __future__ import annotations

from pathlib import Path

from sim_bridge.trust.folders import subfolder


def mesh_folder() -> Path | None:
    """Return the folder, beside the compiled kernels; None if it cannot be written."""
    return subfolder('meshes')
