"""
Locations of ROS and Gazebo packages, and files belonging to them.

The search covers the given paths, then the paths used by ROS 2 (ament), Gazebo and ROS 1, then the
folders above a file, then the workspace or repository of the file. A source checkout therefore
works without any installation. Folders below a path are searched by `package.xml` at any depth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import glob
import os
from pathlib import Path

from sim_bridge.foreign.workspaces import package_name, packages_below
from sim_bridge.foundation.errors import brief, shortened

_RESOURCE_VARIABLES = (
    'GZ_SIM_RESOURCE_PATH',
    'IGN_GAZEBO_RESOURCE_PATH',
    'GAZEBO_MODEL_PATH',
    'ROS_PACKAGE_PATH',
)
# release named where no ROS is sourced
_RELEASE = 'jazzy'
# folder of the sources in a workspace, and folder in each repository
_SOURCES, _REPOSITORY = 'src', '.git'


def find_package(
    package: str, base: Path | None, package_paths: Iterable[str | Path]
) -> Path | None:
    """
    Return a package's folder; None if it is not found.

    base: folder of the file naming the package. package_paths: folders containing packages, or
    package folders. A folder with a package.xml comes first: a package of Python modules contains
    a folder with its own name.
    """
    first = None
    for folder in package_folders(package, base, package_paths):
        try:
            if not folder.is_dir():
                continue
        except (OSError, ValueError):
            # a name rejected by all file systems
            continue
        if package_name(folder):
            return folder
        first = first or folder
    return first


def explain_missing(package: str) -> str:
    """Return the ways to provide a missing package."""
    release = os.environ.get('ROS_DISTRO') or _RELEASE
    name = shortened(f'ros-{release}-{package.replace("_", "-")}')
    return (
        f'package {brief(package)} is not found; name its folder with a package path, or install '
        f'it (apt: {name}, if it is released)'
    )


def in_sources(path: Path) -> Path | None:
    """
    Return the source of a file missing in a package's sources; None if it is not unique.

    path: file as it is installed. An installation may lack folders of the sources, as
    `description/` in `install(DIRECTORY description/urdf DESTINATION share/...)`.
    """
    if os.pardir in path.parts:
        return None
    try:
        return None if path.exists() else _below_package(path)
    except (OSError, ValueError):
        # a name rejected by all file systems
        return None


def _below_package(path: Path) -> Path | None:
    for above in path.parents:
        if package_name(above):
            rest = glob.escape(str(path.relative_to(above)))
            # folders of a package lie seldom deeper
            found = [each for depth in ('*', '*/*') for each in above.glob(f'{depth}/{rest}')]
            is_inside = len(found) == 1 and found[0].resolve().is_relative_to(above.resolve())
            return found[0] if is_inside else None
    return None


def package_folders(
    package: str, base: Path | None, package_paths: Iterable[str | Path]
) -> Iterator[Path]:
    """Yield possible folders of a package in search order; arguments as in `find_package`."""
    # these names would lead to folders that are not packages
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
            if above.name == package or package_name(above) == package:
                yield above
        for root in _workspaces(base):
            yield from _by_manifest(root, package)
        # folders beside the file, named as packages by some robots
        yield base / package


def ament_share(package: str) -> Iterator[Path]:
    """Yield possible share folders of an installed ROS 2 package."""
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if prefix:
            yield Path(prefix) / 'share' / package


def leads_out(rest: str) -> bool:
    """Return whether the text of a path inside a package leads out of it."""
    return os.path.isabs(rest) or os.path.normpath(rest).split(os.sep)[0] == os.pardir


def is_linked_out(file: Path, folder: Path, package: str) -> bool:
    """
    Return whether a file in a package's folder is elsewhere, through a symbolic link.

    An installation may consist of links into the package's own source and build folders, as after
    `colcon build --symlink-install`; these do not lead out.
    """
    real, root = file.resolve(), folder.resolve()
    return not real.is_relative_to(root) and not any(
        _is_of_package(above, package) for above in real.parents
    )


def _is_of_package(folder: Path, package: str) -> bool:
    """Return whether a folder is a package's source or build folder."""
    if folder.name == package and (folder.parent / 'COLCON_IGNORE').is_file():
        return True
    return package_name(folder) == package


def _workspaces(base: Path) -> Iterator[Path]:
    """Yield the repository of a file, and the source folder of its workspace."""
    for above in (base, *base.parents):
        if above.name == _SOURCES or (above / _REPOSITORY).exists():
            yield above


def _by_manifest(root: Path, package: str) -> Iterator[Path]:
    """Yield the folder below a root whose package.xml has this name."""
    found = packages_below(root).get(package)
    if found is not None:
        yield found


def _inside(path: Path, package: str) -> Iterator[Path]:
    """Yield possible folders of a package at a search path, including the path itself."""
    yield path / package
    yield path / 'share' / package
    if path.name == package:
        yield path
    yield from _by_manifest(path, package)
