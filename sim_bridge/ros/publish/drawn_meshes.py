"""Where meshes are kept that are in no file, so that RViz finds what a robot looks like."""

from __future__ import annotations

from pathlib import Path

from sim_bridge.compiler import objects


def mesh_folder() -> Path | None:
    """Return the folder, within that of the compiled kernels; None where none can be written."""
    folder = objects.folder()
    return None if folder is None else folder / 'meshes'
