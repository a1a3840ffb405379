"""Sensor kind declarations: complete, unique, and in few files."""

from __future__ import annotations

import copy
import pickle

import pytest

import sim_bridge as sb
from sim_bridge.description.model import SensorDescription
from sim_bridge.description.rays import RaySettings
from sim_bridge.description.sensor_kinds import (
    AIR_PRESSURE,
    CONTACT,
    FORCE_TORQUE,
    IMU,
    KINDS,
    LIDAR,
    MagneticSettings,
    MAGNETOMETER,
    MeasuredBy,
)
from sim_bridge.sensors.kinds import DEVICES
from sim_bridge.sensors.sampling import FAMILIES


def test_a_sensor_kind_is_named_in_few_files(repository):
    """Name magnetometers in record, kernel, class, topic row, public names and file readers."""
    package = repository / 'sim_bridge'
    files = [path for pattern in ('*.py', '*.pyi') for path in package.rglob(pattern)]
    found = {
        path.relative_to(package).as_posix()
        for path in files
        if 'magnetometer' in path.read_text().lower()
    }
    assert found == {
        '__init__.pyi',
        # MuJoCo's sensor of this name, and the field of SDF worlds
        'description/mjcf/sensors.py',
        'description/scene/sdf/models.py',
        'description/sensor_kinds.py',
        'ros/publish/sensor_topics.py',
        'sensors/place_readings.py',
        'sensors/places.py',
    }


def test_every_kind_has_a_kernel_and_every_kernel_a_kind():
    """Give each kind one code in its family; leave no family and no code without a kind."""
    assert set(FAMILIES) == set(MeasuredBy)
    words = {family: set(codes) for family, (_, codes) in FAMILIES.items()}
    for kind in KINDS.values():
        assert kind.word in words[kind.measured_by]
    assert sum(map(len, words.values())) == len(KINDS)
    for _, codes in FAMILIES.values():
        assert len(set(codes.values())) == len(codes)
    numbers = [number for number, _ in FAMILIES.values()]
    assert len(set(numbers)) == len(numbers)


def test_words_of_kinds_are_unique():
    """Read no type in SDF, in Choreonoid's files or in `<robot>` as two kinds."""
    for words in ('sdf_types', 'robot_types', 'body_types'):
        every = [word for kind in KINDS.values() for word in getattr(kind, words)]
        assert len(set(every)) == len(every)


def test_quantities_of_one_name_have_one_unit():
    """Declare a quantity alike in all its kinds, except for its size."""
    quantities = {}
    for kind in KINDS.values():
        for each in kind.quantities:
            known = quantities.setdefault(each.name, each)
            assert (each.unit, each.axes, each.has_noise) == (
                known.unit,
                known.axes,
                known.has_noise,
            )


@pytest.mark.parametrize('word', KINDS)
def test_a_kind_is_one_object(word):
    """Keep the identity of a record in copies and pickles: readers compare by identity."""
    kind = KINDS[word]
    assert copy.deepcopy(kind) is kind
    assert pickle.loads(pickle.dumps(kind)) is kind
    # a kind without its own class has a plain Device
    if kind in DEVICES:
        assert DEVICES[kind].kind_of_class is kind
        assert getattr(sb, DEVICES[kind].__name__) is DEVICES[kind]


@pytest.mark.parametrize(
    ('kind', 'old', 'value'),
    [
        (MAGNETOMETER, 'magnetic_field', MagneticSettings().magnetic_field),
        (AIR_PRESSURE, 'reference_altitude', None),
        (IMU, 'enable_orientation', True),
        (FORCE_TORQUE, 'measure_direction', 'child_to_parent'),
        (CONTACT, 'collisions', ()),
        (LIDAR, 'scan', RaySettings()),
    ],
    ids=lambda given: getattr(given, 'word', None),
)
def test_settings_are_found_by_their_old_names(kind, old, value):
    """Return the setting with a warning that names the new place."""
    description = SensorDescription('sensor', kind, 'link')
    with pytest.deprecated_call(match=rf'SensorDescription\.{old} is now called settings'):
        assert getattr(description, old) == value


def test_settings_of_other_kinds_are_no_attributes():
    """Raise AttributeError, and copy and pickle as plain data."""
    description = SensorDescription('sensor', IMU, 'link')
    with pytest.raises(AttributeError, match="no attribute 'magnetic_field'"):
        description.magnetic_field  # noqa: B018
    assert pickle.loads(pickle.dumps(description)).kind is IMU
    assert copy.deepcopy(description).settings == description.settings
