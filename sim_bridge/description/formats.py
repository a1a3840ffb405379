"""
File formats of robots and worlds: the table, and the choice for a file.

The suffix chooses the format. Among XML files the root element chooses, since `.xml` and `.xacro`
files hold several formats.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
import re
from typing import TypeGuard

from sim_bridge.foreign.files import read_head

# bytes searched for the root element: comments with a licence may come first
_HEAD_BYTES = 65_536
# comments, processing instructions and declarations before the root element, by their beginning
_ENDS = {'<!--': '-->', '<?': '?>', '<!': '>'}
_NAME = re.compile(r'<([A-Za-z_][\w:.-]*)')
_UTF_16 = (b'\xff\xfe', b'\xfe\xff', b'<\0', b'\0<')


@dataclass(frozen=True)
class FileFormat:
    """
    File format for robots or worlds.

    name: in messages. suffixes: lower case, with dots. roots: names for the XML root element;
    empty if the format is not XML. robots: module with a `reader.RobotReader`; '' for none.
    worlds: module with a `scene.reader.WorldReader`; '' for none.
    """

    name: str
    suffixes: tuple[str, ...]
    roots: tuple[str, ...] = ()
    robots: str = ''
    worlds: str = ''


URDF = FileFormat('URDF', ('.urdf', '.xacro'), ('robot',), 'sim_bridge.description.urdf.load')
# Choreonoid's suffix, and OpenHRP's, which Choreonoid reads too
BODY = FileFormat('body', ('.body', '.wrl'), robots='sim_bridge.description.body.load')
# read by `World.load_openplx`
OPENPLX = FileFormat('OpenPLX', ('.openplx',))
YAML = FileFormat('YAML', ('.yaml', '.yml'), worlds='sim_bridge.description.scene.scene')
SDF = FileFormat(
    'SDF',
    ('.sdf', '.world'),
    # the root element had the second name before SDF 1.3
    ('sdf', 'gazebo'),
    'sim_bridge.description.sdf_model.load',
    'sim_bridge.description.scene.sdf.load',
)
PROJECT = FileFormat('Choreonoid', ('.cnoid',), worlds='sim_bridge.description.scene.project')

MJCF = FileFormat(
    'MJCF',
    ('.mjcf',),
    ('mujoco',),
    'sim_bridge.description.mjcf.load',
    'sim_bridge.description.scene.mjcf_world',
)

USD = FileFormat(
    'USD',
    ('.usd', '.usda', '.usdc', '.usdz'),
    robots='sim_bridge.description.usd.load',
    worlds='sim_bridge.description.scene.usd_world',
)

FORMATS = (URDF, SDF, BODY, MJCF, USD, OPENPLX, YAML, PROJECT)
_SHARED_SUFFIX = '.xml'

ROBOT_SUFFIXES = (
    *(suffix for each in FORMATS if each.robots for suffix in each.suffixes),
    *OPENPLX.suffixes,
)
WORLD_SUFFIXES = tuple(suffix for each in FORMATS if each.worlds for suffix in each.suffixes)


def is_xml_text(source: str | Path) -> TypeGuard[str]:
    """Return whether a source is XML text instead of a path: XML text starts with '<'."""
    return isinstance(source, str) and source.lstrip('\ufeff \t\r\n').startswith('<')


def format_of(source: str | Path) -> FileFormat:
    """
    Return the format of a file, or of XML text; URDF if it is unknown.

    source: path or XML text. A file that cannot be read has the format of its suffix.
    """
    if is_xml_text(source):
        return _by_root(source[:_HEAD_BYTES], URDF)
    suffix = Path(source).suffix.lower()
    known = next((each for each in FORMATS if suffix in each.suffixes), URDF)
    if not known.roots:
        return known
    return _by_root(_head(Path(source)), known)


def _by_root(head: str, default: FileFormat) -> FileFormat:
    root = root_name(head)
    return next((each for each in FORMATS if root in each.roots), default)


def root_name(text: str) -> str:
    """Return the name of the root element in XML text; '' if there is none."""
    at = text.find('<')
    while at >= 0:
        end = next((end for begin, end in _ENDS.items() if text.startswith(begin, at)), '')
        if not end:
            found = _NAME.match(text, at)
            return found[1] if found else ''
        after = text.find(end, at)
        at = text.find('<', after) if after >= 0 else -1
    return ''


def _head(path: Path) -> str:
    """Return the beginning of a text file; '' if it cannot be read."""
    try:
        head = read_head(path, _HEAD_BYTES)
    except (OSError, ValueError):
        return ''
    return head.decode('utf-16' if head.startswith(_UTF_16) else 'utf-8', errors='ignore')
