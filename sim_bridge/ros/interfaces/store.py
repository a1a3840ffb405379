"""
Generated message packages by content, kept for all processes of a user.

A folder is named by a key of all that decides what is in it: definitions, the program that
generates, the versions of the wheels that it generates with and links to, Python and machine. So
what is found is never stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import contextlib
import fcntl
import hashlib
import importlib.util
import os
from pathlib import Path
import platform
import re
import sys

from sim_bridge.compiler import objects
from sim_bridge.ros.interfaces import definitions

# the generators, what generated code links to, and numpy, by the names of their metadata
_WHEELS = re.compile(
    r'(?:ros_(?:rosidl_\w+|fastcdr|rcutils|rmw|\w+_(?:msgs|interfaces))|numpy)-[\w.]+\.dist-info'
)
# other releases of numpy than those with another first number have the same layout
_NUMPY_MINOR = re.compile(r'(?<=^numpy-\d)[\d.]*')


def wheels() -> list[str] | None:
    """
    Return the wheels that decide what is generated; None where rclpy is not from a wheel.

    Found by the names of files, since reading metadata would take a tenth of a node's start.
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
        # those for tests must not change the key
        and not name.startswith(('ros_test_msgs', 'ros_lifecycle_msgs'))
    )


def key_of(files: Iterable[Path], beside: Iterable[str]) -> str:
    """Return the key of the packages that `files` define; beside: the wheels."""
    digest = hashlib.sha256()
    for path in (*files, Path(__file__).with_name('build.py')):
        digest.update(path.read_bytes())
    abi = (sys.implementation.cache_tag, platform.machine(), *beside)
    digest.update('\n'.join(map(str, abi)).encode())
    return digest.hexdigest()[:32]


def find(files: Iterable[Path] | None = None) -> Path | None:
    """Return the prefix of the generated packages; None if they have not been generated."""
    beside = wheels()
    if beside is None:
        return None
    key = key_of(definitions.files() if files is None else files, beside)
    found = (folder / 'interfaces' / key for folder in objects.readable())
    return next((path for path in found if path.is_dir()), None)


def absence(package: str) -> str:
    """Return what to say where a package is not installed: how to get it."""
    way = (
        'apt install ros-$ROS_DISTRO-' + package.replace('_', '-')
        if wheels() is None
        else '`sim_bridge interfaces`'
    )
    return f'{package} is not installed; {way} installs it'


def python_path(prefix: Path) -> Path:
    """Return the folder of a prefix that Python searches for packages."""
    return prefix / 'python'


def append(variable: str, folder: Path) -> None:
    """Add a folder to an environment variable of folders, as the last one."""
    known = [each for each in os.environ.get(variable, '').split(os.pathsep) if each]
    if str(folder) not in known:
        os.environ[variable] = os.pathsep.join([*known, str(folder)])


def offer(prefix: Path | None = None) -> None:
    """
    Let this process and its children find the generated packages, after all that is installed.

    prefix: of the packages; the kept ones by default, if there are any.
    """
    prefix = prefix or find()
    if prefix is None:
        return
    folder = str(python_path(prefix))
    if folder not in sys.path:
        sys.path.append(folder)
    append('AMENT_PREFIX_PATH', prefix)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one process at a time do what is in the block for a path."""
    with open(path.with_suffix('.lock'), 'w') as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
