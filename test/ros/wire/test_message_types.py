"""Message classes by names from outside: only generated message packages are imported."""

from __future__ import annotations

from pathlib import Path
import struct
import sys

import pytest
from sensor_msgs.msg import JointState

from sim_bridge.cli.main import main
from sim_bridge.foundation.errors import MissingPackageError, ReplayError
from sim_bridge.ros.wire.message_types import message_class

MAGIC = b'\x89MCAP0\r\n'


def text(value: str) -> bytes:
    """Return a text as in MCAP records."""
    return struct.pack('<I', len(value.encode())) + value.encode()


def record(code: int, content: bytes) -> bytes:
    """Return an MCAP record."""
    return bytes([code]) + struct.pack('<Q', len(content)) + content


def bag_of(type_name: str) -> bytes:
    """Return a bag with three messages on /t, of any type name."""
    schema = struct.pack('<H', 1) + text(type_name) + text('ros2msg') + text('float64 data\n')
    channel = struct.pack('<HH', 1, 1) + text('/t') + text('cdr') + struct.pack('<I', 0)
    content = record(1, text('ros2') + text('x')) + record(3, schema) + record(4, channel)
    for number in range(3):
        time = number * 10**9
        head = struct.pack('<HIQQ', 1, number, time, time)
        content += record(5, head + b'\0\1\0\0' + struct.pack('<d', 1.0))
    content += record(15, struct.pack('<I', 0)) + record(2, struct.pack('<QQI', 0, 0, 0))
    return MAGIC + content + MAGIC


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """Put modules on the path: each leaves a file when it is imported."""
    ran = 'from pathlib import Path; Path(__file__ + ".ran").touch()\n'
    claim = 'from planted_lookalike.msg._x import X\n'
    for name, content in {
        'planted_module.py': ran,
        'planted_package/__init__.py': ran,
        'planted_package/msg/__init__.py': ran,
        'planted_package/msg/_x.py': ran,
        'planted_lookalike/__init__.py': ran,
        'planted_lookalike/msg/__init__.py': claim,
        'planted_lookalike/msg/_x.py': ran,
    }.items():
        path = tmp_path / 'modules' / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    monkeypatch.syspath_prepend(tmp_path / 'modules')
    yield
    assert not list((tmp_path / 'modules').rglob('*.ran')), 'it was imported'


NAMES = ['planted_module', 'planted_package', 'planted_lookalike', 'sys', '__main__', 'no_such']


@pytest.mark.parametrize('package', NAMES)
def test_only_message_packages_are_imported(planted, package):
    """Refuse other modules without running them."""
    for name in (f'{package}/msg/X', f'{package}/X'):
        with pytest.raises(MissingPackageError, match=f'{package}/msg/X.*source a workspace'):
            message_class(name)


def test_a_planted_package_is_named(planted, tmp_path):
    """Say where the Python package lies."""
    place = tmp_path / 'modules' / 'planted_package' / '__init__.py'
    with pytest.raises(MissingPackageError, match=f'{place} does not define it'):
        message_class('planted_package/msg/X')


def test_message_classes_are_found():
    """Return the class for either form of its name."""
    assert message_class('sensor_msgs/msg/JointState') is JointState
    assert message_class('sensor_msgs/JointState') is JointState
    assert message_class('tf2_msgs/msg/TFMessage').__name__ == 'TFMessage'


@pytest.mark.parametrize('name', ['', '/', 'a', 'a/b/c', 'a.b/msg/X', '../a/msg/X', 'a/msg/../X'])
def test_other_names_are_no_message_types(name):
    """Refuse names without the form of a message type."""
    with pytest.raises(ReplayError, match='is not a message type'):
        message_class(name)


@pytest.mark.parametrize('package', ['planted_module', 'planted_package'])
@pytest.mark.parametrize('verb', ['plot', 'info', 'replay', 'view'])
def test_bags_import_no_modules(planted, tmp_path, capsys, verb, package):
    """Read a bag with a hostile type name by each verb, and run nothing."""
    bag = tmp_path / 'bag.mcap'
    bag.write_bytes(bag_of(f'{package}/msg/X'))
    page = ['--html', str(tmp_path / 'page.html')] if verb == 'plot' else []
    curve = ['t.data'] if verb == 'plot' else []
    code = main([verb, str(bag), *curve, *page])
    assert code in ({0} if verb == 'info' else {1, 2})
    assert 'Traceback' not in capsys.readouterr().err
    assert not {module for module in sys.modules if module.startswith('planted')}
    assert Path(bag).exists()
