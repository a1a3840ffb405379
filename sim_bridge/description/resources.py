"""
Where files are: meshes and packages named by a description, and the robots this package ships.

Packages are looked for in the given paths, then where ROS 2 (ament), Gazebo and ROS 1 keep them,
then in the folders above the description, so that a source checkout works without any of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
import os
from pathlib import Path
import sys
from urllib.parse import unquote

from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError

PACKAGE = 'sim_bridge'

_PACKAGE_SCHEMES = ('package://', 'model://')
_RESOURCE_VARIABLES = (
    'GZ_SIM_RESOURCE_PATH',
    'IGN_GAZEBO_RESOURCE_PATH',
    'GAZEBO_MODEL_PATH',
    'ROS_PACKAGE_PATH',
)


def has_ros_package(name: str) -> bool:
    """Return whether a ROS 2 package is in the ament index, as its executables must be."""
    index = Path('ament_index', 'resource_index', 'packages', name)
    return any((share.parent / index).is_file() for share in _ament_share(name))


def share_directory() -> Path:
    """
    Return the folder that holds this package's launch, config and urdf folders.

    It is in the ament index after a build with colcon, beside the package in a source checkout,
    and under `<prefix>/share` after an installation by pip. Raises UnknownNameError if it is in
    none of them.
    """
    checkout = Path(__file__).resolve().parents[2]
    installed = Path(sys.prefix) / 'share' / PACKAGE
    candidates = [*_ament_share(PACKAGE), checkout, installed]
    for candidate in candidates:
        if (candidate / 'urdf').is_dir():
            return candidate
    raise UnknownNameError(
        'share directory of',
        PACKAGE,
        map(str, candidates),
        'the ament index, the checkout and the prefix',
    )


def find_robot(name_or_path: str | Path) -> Path:
    """
    Return the file of a robot: a shipped one by its name, or any by its path.

    Raises UnknownNameError, with the shipped names, for a name that is neither; InvalidValueError
    for a path of no file.
    """
    text = os.path.expanduser(name_or_path)
    path = Path(text)
    if _is(Path.is_file, path):
        return path
    if path.suffix or os.sep in text:
        raise InvalidValueError(
            'robot',
            str(name_or_path),
            'the name of a shipped robot or the path of a file that exists',
        )
    shipped = shipped_robots()
    if path.name not in shipped:
        folder = share_directory() / 'urdf'
        raise UnknownNameError('robot', str(name_or_path), sorted(shipped), str(folder))
    return shipped[path.name]


def shipped_robots() -> dict[str, Path]:
    """Return the files of the robots that this package ships, by name."""
    folder = share_directory() / 'urdf'
    return {
        file.name.split('.')[0]: file
        for file in sorted(folder.glob('*.urdf*')) + sorted(folder.glob('*.xacro'))
    }


def resolve_uri(
    uri: str, *, base: Path | None = None, package_paths: Iterable[str | Path] = ()
) -> Path | None:
    """
    Return the file of a `package://`, `model://` or `file://` URI or a path; None if missing.

    base: the folder of the description, from which relative paths count; the working directory if
    None. package_paths: folders that hold packages, or are packages themselves; they come first.
    """
    return next(
        (path for path in _candidates(uri, base, package_paths) if _is(Path.is_file, path)), None
    )


def explain_unresolved(
    uri: str, *, base: Path | None = None, package_paths: Iterable[str | Path] = ()
) -> str:
    """Return the reason why `resolve_uri` returns None."""
    split = _split_package(uri)
    if split is None:
        scheme = uri.split('://')[0] if '://' in uri else ''
        if scheme and scheme != 'file':
            return f'{scheme}:// is not read'
        return 'no such file'
    package, rest = split
    if _leads_out(rest):
        return f'{rest} leads out of package {package!r}'
    found = next(
        (
            path
            for path in _package_folders(package, base, package_paths)
            if _is(Path.is_dir, path)
        ),
        None,
    )
    if found is None:
        return f'package {package!r} is not found; name its folder with a package path'
    return f'package {package!r} has no such file'


def searched_paths(
    uri: str, *, base: Path | None = None, package_paths: Iterable[str | Path] = ()
) -> list[Path]:
    """List where `resolve_uri` looks, in this order."""
    return list(dict.fromkeys(_candidates(uri, base, package_paths)))


def _is(kind: Callable[[Path], bool], path: Path) -> bool:
    """Return whether a path is a file or folder; False for a path that no file system accepts."""
    try:
        return kind(path)
    except (OSError, ValueError):
        return False


def _leads_out(rest: str) -> bool:
    """Return whether a path inside a package leads out of it."""
    return os.path.normpath(rest).split(os.sep)[0] == os.pardir


def _candidates(
    uri: str, base: Path | None, package_paths: Iterable[str | Path]
) -> Iterator[Path]:
    split = _split_package(uri)
    if split is not None:
        package, rest = split
        if not _leads_out(rest):
            for folder in _package_folders(package, base, package_paths):
                yield folder / rest
    elif uri.startswith('file://'):
        yield (base or Path()) / unquote(uri.removeprefix('file://'))
    elif '://' not in uri:
        yield (base or Path()) / uri


def _split_package(uri: str) -> tuple[str, str] | None:
    for scheme in _PACKAGE_SCHEMES:
        if uri.startswith(scheme):
            # some descriptions have a slash too many, which most readers accept
            package, _, rest = uri.removeprefix(scheme).lstrip('/').partition('/')
            return package, rest
    return None


def _package_folders(
    package: str, base: Path | None, package_paths: Iterable[str | Path]
) -> Iterator[Path]:
    # these would lead to folders that are no packages
    if package in ('', os.curdir, os.pardir):
        return
    for path in map(Path, package_paths):
        yield from _inside(path, package)
    yield from _ament_share(package)
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


def _inside(path: Path, package: str) -> Iterator[Path]:
    """Yield where a package may be under a search path, itself included."""
    yield path / package
    yield path / 'share' / package
    if path.name == package:
        yield path


def _ament_share(package: str) -> Iterator[Path]:
    """Yield where the share folder of an installed ROS 2 package may be."""
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if prefix:
            yield Path(prefix) / 'share' / package
