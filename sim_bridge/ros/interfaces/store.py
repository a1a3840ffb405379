"""
Generated message packages by content, shared by all processes of a user.

The folder name is a key computed from everything affecting the contents: definitions, generator
program, versions of the wheels used for generation and linking, Python and machine. A folder is
therefore never stale.
"""

from __future__ import annotations

from collections.abc import Iterable
import hashlib
import importlib.util
import os
from pathlib import Path
import platform
import re
import sys
import warnings

from sim_bridge.ros.interfaces import definitions
from sim_bridge.trust.folders import folders
from sim_bridge.trust.ownership import check_tree, UntrustedFileError

FOLDER = 'interfaces'
"""Name of the folder for all generated packages, in a cache folder."""

# metadata folders: generators, linked wheels, numpy
_WHEELS = re.compile(
    r'(?:ros_(?:rosidl_\w+|fastcdr|rcutils|rmw|\w+_(?:msgs|interfaces))|numpy)-[\w.]+\.dist-info'
)
# numpy releases with the same major version have the same layout
_NUMPY_MINOR = re.compile(r'(?<=^numpy-\d)[\d.]*')


def wheels() -> list[str] | None:
    """
    Return the wheels affecting generation; None if rclpy does not come from a wheel.

    Found by file names, since reading metadata would take a tenth of a node's start-up time.
    """
    spec = importlib.util.find_spec('rclpy')
    if spec is None or spec.origin is None:
        return None
    names = os.listdir(Path(spec.origin).parent.parent)
    if not any(name.startswith('ros_rclpy-') for name in names):
        return None
    return sorted(
        _NUMPY_MINOR.sub('', name)
        for name in names
        if _WHEELS.fullmatch(name)
        # test packages must not change the key
        and not name.startswith(('ros_test_msgs', 'ros_lifecycle_msgs'))
    )


def key_of(files: Iterable[Path], beside: Iterable[str]) -> str:
    """Return the key of the packages defined by `files`. beside: names of installed wheels."""
    digest = hashlib.sha256()
    for path in (*files, Path(__file__).with_name('build.py')):
        digest.update(path.read_bytes())
    abi = (sys.implementation.cache_tag, platform.machine(), *beside)
    digest.update('\n'.join(map(str, abi)).encode())
    return digest.hexdigest()[:32]


def find(files: Iterable[Path] | None = None) -> Path | None:
    """Return the prefix of the generated packages; None if they are not generated yet."""
    beside = wheels()
    if beside is None:
        return None
    key = key_of(definitions.files() if files is None else files, beside)
    paths = (folder / FOLDER / key for folder in folders().searched)
    return next((path for path in paths if _is_usable(path)), None)


def _is_usable(path: Path) -> bool:
    """Return whether packages exist and may be imported; warns if another user controls them."""
    if not path.is_dir():
        return False
    try:
        check_tree(path)
    except UntrustedFileError as error:
        warnings.warn(
            f'the generated message packages in {path} are not used: {error.filename} '
            f'{error.strerror}; `sim_bridge interfaces` generates them again',
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


def absence(package: str) -> str:
    """Return a message about a missing package, with the command for installing it."""
    way = (
        'apt install ros-$ROS_DISTRO-' + package.replace('_', '-')
        if wheels() is None
        else '`sim_bridge interfaces`'
    )
    return f'{package} is not installed; {way} installs it'


def python_path(prefix: Path) -> Path:
    """Return the folder below a prefix where Python finds packages."""
    return prefix / 'python'


def append(variable: str, folder: Path) -> None:
    """Append a folder to an environment variable with a folder list."""
    known = [each for each in os.environ.get(variable, '').split(os.pathsep) if each]
    if str(folder) not in known:
        os.environ[variable] = os.pathsep.join([*known, str(folder)])


def offer(prefix: Path | None = None) -> None:
    """
    Add the generated packages to the search paths of this process and its children, at the end.

    prefix: folder of the packages; the cached one by default, if it exists.
    """
    prefix = prefix or find()
    if prefix is None:
        return
    folder = str(python_path(prefix))
    if folder not in sys.path:
        sys.path.append(folder)
    append('AMENT_PREFIX_PATH', prefix)
