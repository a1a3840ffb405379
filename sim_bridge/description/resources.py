"""
Locations of files: meshes and packages named by a description, shipped robots and scenes.

`foreign.packages` lists the folders searched for packages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
import contextlib
import os
from pathlib import Path
import re
import sys
from typing import NamedTuple
from urllib.parse import unquote

from sim_bridge.description.formats import format_of, ROBOT_SUFFIXES, WORLD_SUFFIXES
from sim_bridge.foreign.files import read_file
from sim_bridge.foreign.fuel import cached, is_fuel, names_model
from sim_bridge.foreign.packages import (
    ament_share,
    explain_missing,
    find_package,
    in_sources,
    is_linked_out,
    leads_out,
    package_folders,
)
from sim_bridge.foundation.errors import (
    brief,
    close_match,
    InvalidValueError,
    shortened,
    UnknownNameError,
)

PACKAGE = 'sim_bridge'

# accepted robot names; filled with the shipped robots' names
_ROBOT = 'the name of a shipped robot ({}), the path of a file that exists, or a package:// URI'

PARAMETERS_SUFFIX = '.params.yaml'
# name prefix of shipped scenes
GALLERY = 'gallery/'
_NO_SCENE = (
    "a robot. If this is a scene, name it as the world: by --world, or by 'world' among launch "
    'arguments and parameters'
)

_MODEL_SCHEME = 'model://'
_PACKAGE_SCHEMES = ('package://', _MODEL_SCHEME)
STRING = '<string>'
"""Source of a description given as text."""
# file naming the SDF files of a model, and the newest version that is read
_MANIFEST, _NEWEST_SDF = 'model.config', (1, 12)
_MODEL_FILE = 'model.sdf'
_MANIFEST_FILE = re.compile(r'<sdf(?:\s+version\s*=\s*["\']([\d.]*)["\'])?\s*>([^<]*)</sdf\s*>')


def has_ros_package(name: str) -> bool:
    """Return whether a ROS 2 package is in the ament index; its executables need that."""
    index = Path('ament_index', 'resource_index', 'packages', name)
    return any((share.parent / index).is_file() for share in ament_share(name))


def share_directory() -> Path:
    """
    Return the folder holding this package's launch, config, gallery and urdf folders.

    The folder is in the ament index after a build with colcon, beside the package in a source
    checkout, and under `<prefix>/share` after an installation by pip. Raises UnknownNameError if
    all three lack it.
    """
    checkout = Path(__file__).resolve().parents[2]
    installed = Path(sys.prefix) / 'share' / PACKAGE
    candidates = [*ament_share(PACKAGE), checkout, installed]
    for candidate in candidates:
        if (candidate / 'urdf').is_dir():
            return candidate
    raise UnknownNameError(
        'share directory of',
        PACKAGE,
        map(str, candidates),
        'the ament index, the checkout and the prefix',
    )


def find_robot(
    name_or_path: str | Path, *, base: Path | None = None, package_paths: Iterable[str | Path] = ()
) -> Path:
    """
    Return a robot's file: any file by its path or URI, or a shipped one by its name.

    base, package_paths: see `resolve_uri`. Raises UnknownNameError, listing the shipped names, for
    an unknown name; InvalidValueError for a path or URI without a file, or to a scene.
    """
    given, package_paths = str(name_or_path), tuple(package_paths)
    text = os.path.expanduser(given)
    found = resolve_uri(text, base=base, package_paths=package_paths)
    if found is not None:
        chosen = format_of(found)
        if chosen.worlds and not chosen.robots:
            raise InvalidValueError('robot', given, _NO_SCENE)
        return found
    shipped = shipped_robots()
    if '://' in text:
        reason = explain_unresolved(text, base=base, package_paths=package_paths)
        raise InvalidValueError('robot', given, f'{_ROBOT.format(", ".join(shipped))} ({reason})')
    path = Path(text)
    if path.suffix or os.sep in text:
        hint = robot_meant((base or Path()) / path, shipped)
        raise InvalidValueError('robot', given, _ROBOT.format(', '.join(shipped)) + hint)
    if text not in shipped:
        raise UnknownNameError('robot', given, shipped, str(share_directory() / 'urdf'))
    return shipped[text]


def robot_meant(path: Path, shipped: Iterable[str]) -> str:
    """Return a hint at the robot file or name closest to a missing path; '' if none is close."""
    beside: list[str] = []
    with contextlib.suppress(OSError, ValueError):
        beside = [each.name for each in path.parent.iterdir() if each.suffix in ROBOT_SUFFIXES]
    close = close_match(path.name, beside)
    if close:
        return f'; did you mean {str(path.with_name(close))!r}?'
    close = close_match(path.name.split('.')[0], shipped)
    return f'; did you mean {close!r}, which ships?' if close else ''


def shipped_robots() -> dict[str, Path]:
    """Return the shipped robots' files, by name."""
    folder = share_directory() / 'urdf'
    return {
        file.name.split('.')[0]: file
        for file in sorted(folder.iterdir())
        if file.suffix in ROBOT_SUFFIXES
    }


def shipped_file(source: str | Path) -> str | Path:
    """Return the file of a shipped robot for its name; any other source unchanged."""
    path = Path(source)
    if path.suffix or path.parent.name or _is(Path.exists, path):
        return source
    return shipped_robots().get(str(source), source)


def find_scene(name_or_path: str | Path) -> Path:
    """
    Return a scene's file: the shipped scene for gallery/NAME, else the given path.

    Raises UnknownNameError, listing the shipped names.
    """
    given = str(name_or_path)
    if not names_gallery_scene(given):
        return Path(name_or_path)
    shipped = gallery_scenes()
    if given not in shipped:
        raise UnknownNameError('scene', given, shipped, str(share_directory() / GALLERY))
    return shipped[given]


def names_gallery_scene(text: str) -> bool:
    """Return whether a text looks like a gallery scene's name."""
    return text.startswith(GALLERY) and not text.endswith(WORLD_SUFFIXES)


def gallery_scenes() -> dict[str, Path]:
    """Return the shipped scenes' files, by name: gallery/NAME."""
    return {
        f'{GALLERY}{file.stem}': file
        for file in sorted((share_directory() / GALLERY).glob('*.yaml'))
        if not file.name.endswith(PARAMETERS_SUFFIX)
    }


def resolve_uri(
    uri: str, *, base: Path | None = None, package_paths: Iterable[str | Path] = ()
) -> Path | None:
    """
    Return the file of a `package://`, `model://` or `file://` URI or a path; None if missing.

    base: folder of the description; relative paths start there, or in the working directory if it
    is None. package_paths: package folders, or folders holding packages; searched first.
    """
    candidates = list(_candidates(uri, base, package_paths))
    found = next(
        (
            candidate.path
            for candidate in candidates
            if _is(Path.is_file, candidate.path) and not candidate.is_linked_out
        ),
        None,
    )
    if found is not None:
        return found
    sources = (in_sources(candidate.path) for candidate in candidates)
    return next((each for each in sources if each is not None and _is(Path.is_file, each)), None)


def find_model_file(
    uri: str, *, base: Path | None = None, package_paths: Iterable[str | Path] = ()
) -> Path | None:
    """
    Return an include's SDF file; None if it is missing.

    uri: a file, or a folder with model.config, by path, `model://`, `package://`, `file://` or a
    Fuel address in the local cache. base, package_paths: see `resolve_uri`.
    """
    package_paths = tuple(package_paths)
    found = resolve_uri(uri, base=base, package_paths=package_paths)
    if found is not None:
        return found
    for candidate in _candidates(uri, base, package_paths):
        if not candidate.is_linked_out and _is(Path.is_dir, candidate.path):
            model = _file_of_model(candidate.path)
            if model is not None:
                return model
    return None


def _file_of_model(folder: Path) -> Path | None:
    """Return a model folder's SDF file, in the newest known version; None without one."""
    best, chosen = (-1, -1), _MODEL_FILE
    with contextlib.suppress(OSError, ValueError):
        text = read_file(folder / _MANIFEST).decode('utf-8', 'replace')
        for version, name in _MANIFEST_FILE.findall(text):
            major, _, minor = version.partition('.')
            number = (int(major), int(minor)) if major.isdigit() and minor.isdigit() else (0, 0)
            if best < number <= _NEWEST_SDF:
                best, chosen = number, name.strip()
    if leads_out(chosen):
        return None
    path = folder / chosen
    return (
        path if _is(Path.is_file, path) and not is_linked_out(path, folder, folder.name) else None
    )


def explain_unresolved(
    uri: str, *, base: Path | None = None, package_paths: Iterable[str | Path] = ()
) -> str:
    """Return the reason why `resolve_uri` finds no file."""
    if names_model(uri):
        return (
            'it is not in the local cache of Fuel; download it (gz fuel download -u URI), or set '
            'GZ_FUEL_CACHE_PATH'
        )
    split = _split_package(uri)
    if split is None:
        scheme = uri.split('://')[0] if '://' in uri else ''
        if scheme and scheme != 'file':
            return f'{shortened(scheme)}:// is not read'
        return 'no such file'
    package, rest = split
    if leads_out(rest):
        return f'{shortened(rest)} leads out of package {brief(package)}'
    package_paths = tuple(package_paths)
    if find_package(package, base, package_paths) is None:
        if uri.startswith(_MODEL_SCHEME):
            return (
                f'model {brief(package)} is not found; name the folder around it with a package '
                'path, or in GZ_SIM_RESOURCE_PATH'
            )
        return explain_missing(package)
    for candidate in _candidates(uri, base, package_paths):
        if _is(Path.is_file, candidate.path):
            return f'{candidate.path} is a symbolic link that leads out of package {package!r}'
    return f'package {brief(package)} has no such file'


def lacks_package(uri: str, base: Path | None, package_paths: Iterable[str | Path]) -> bool:
    """Return whether a URI's package is missing; True also for a relative path without base."""
    split = _split_package(uri)
    if split is None:
        return base is None and not os.path.isabs(uri.removeprefix('file://'))
    return find_package(split[0], base, package_paths) is None


def searched_paths(
    uri: str, *, base: Path | None = None, package_paths: Iterable[str | Path] = ()
) -> list[Path]:
    """List the paths searched by `resolve_uri`, in this order."""
    return list(
        dict.fromkeys(candidate.path for candidate in _candidates(uri, base, package_paths))
    )


def _is(kind: Callable[[Path], bool], path: Path) -> bool:
    """Return whether a path is a file or folder; False for a path refused by the file system."""
    try:
        return kind(path)
    except (OSError, ValueError):
        return False


class _Candidate(NamedTuple):
    """Candidate path of a URI. folder, package: folder and name of its package, if it has one."""

    path: Path
    folder: Path | None = None
    package: str = ''

    @property
    def is_linked_out(self) -> bool:
        """Whether the existing path is a link leading out of its package."""
        return self.folder is not None and is_linked_out(self.path, self.folder, self.package)


def _candidates(
    uri: str, base: Path | None, package_paths: Iterable[str | Path]
) -> Iterator[_Candidate]:
    split = _split_package(uri)
    if split is not None:
        package, rest = split
        if not leads_out(rest):
            for folder in package_folders(package, base, package_paths):
                yield _Candidate(folder / rest, folder, package)
    elif is_fuel(uri):
        found = cached(uri)
        if found is not None:
            yield _Candidate(found)
    elif uri.startswith('file://'):
        yield _Candidate((base or Path()) / unquote(uri.removeprefix('file://')))
    elif '://' not in uri:
        yield _Candidate((base or Path()) / uri)


def _split_package(uri: str) -> tuple[str, str] | None:
    for scheme in _PACKAGE_SCHEMES:
        if uri.startswith(scheme):
            # some descriptions have a superfluous slash, accepted by most readers
            package, _, rest = uri.removeprefix(scheme).lstrip('/').partition('/')
            return package, rest
    return None
