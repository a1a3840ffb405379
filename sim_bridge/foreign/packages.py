"""
Where packages of ROS and Gazebo are, and which files belong to them.

They are looked for in the given paths, then where ROS 2 (ament), Gazebo and ROS 1 keep them, then
in the folders above a file, so that a source checkout works without any of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import os
from pathlib import Path
import re

from sim_bridge.foreign.files import read_file

_RESOURCE_VARIABLES = (
    'GZ_SIM_RESOURCE_PATH',
    'IGN_GAZEBO_RESOURCE_PATH',
    'GAZEBO_MODEL_PATH',
    'ROS_PACKAGE_PATH',
)
_NAME = re.compile(rb'<name>\s*([^<\s]+)\s*</name>')


def find_package(
    package: str, base: Path | None, package_paths: Iterable[str | Path]
) -> Path | None:
    """
    Return the folder of a package; None if it is not found.

    base: the folder of the file that names it. package_paths: folders that hold packages, or are
    packages themselves.
    """
    for folder in package_folders(package, base, package_paths):
        try:
            if folder.is_dir():
                return folder
        except (OSError, ValueError):
            # a name that no file system accepts
            continue
    return None


def package_folders(
    package: str, base: Path | None, package_paths: Iterable[str | Path]
) -> Iterator[Path]:
    """Yield where a package may be, in the order of the search; arguments as `find_package`."""
    # these would lead to folders that are no packages
    if package in ('', os.curdir, os.pardir):
        return
    for path in map(Path, package_paths):
        yield from _inside(path, package)
    yield from ament_share(package)
    for variable in _RESOURCE_VARIABLES:
        for folder in os.environ.get(variable, '').split(os.pathsep):
            if folder:
                yield from _inside(Path(folder), package)
    if base is not None:
        for above in base.parents:
            yield above / package
        for above in (base, *base.parents):
            if above.name == package:
                yield above


def ament_share(package: str) -> Iterator[Path]:
    """Yield where the share folder of an installed ROS 2 package may be."""
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if prefix:
            yield Path(prefix) / 'share' / package


def leads_out(rest: str) -> bool:
    """Return whether a path inside a package leads out of it by its words."""
    return os.path.isabs(rest) or os.path.normpath(rest).split(os.sep)[0] == os.pardir


def is_linked_out(file: Path, folder: Path, package: str) -> bool:
    """
    Return whether a file in the folder of a package is elsewhere, by a symbolic link.

    An installation may consist of links into the source and build folders of the same package, as
    of `colcon build --symlink-install`; these do not lead out.
    """
    real, root = file.resolve(), folder.resolve()
    return not real.is_relative_to(root) and not any(
        _is_of_package(above, package) for above in real.parents
    )


def _is_of_package(folder: Path, package: str) -> bool:
    """Return whether a folder is the source or the build folder of a package."""
    if folder.name == package and (folder.parent / 'COLCON_IGNORE').is_file():
        return True
    try:
        names = _NAME.search(read_file(folder / 'package.xml'))
    except OSError:
        return False
    return names is not None and names[1] == package.encode()


def _inside(path: Path, package: str) -> Iterator[Path]:
    """Yield where a package may be under a search path, itself included."""
    yield path / package
    yield path / 'share' / package
    if path.name == package:
        yield path
