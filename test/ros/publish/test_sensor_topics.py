"""Sensor topics: a row for each kind, and a new kind by its record, kernel and row alone."""

from __future__ import annotations

from dataclasses import dataclass

from bags import messages_on, read_bag, start_recording
import numpy as np
import pytest
from robots import link, robot
from sensor_msgs.msg import Temperature

import sim_bridge as sb
from sim_bridge.description import DescriptionError, sensors_from_mapping
from sim_bridge.description.numbers import Numbers
from sim_bridge.description.sensor_kinds import KINDS, MeasuredBy, Quantity, SensorKind, Values
from sim_bridge.ros.publish.sensor_topics import Field, SensorTopic, TOPICS
from sim_bridge.sensors import place_readings

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")


def test_every_kind_has_topics_of_its_quantities():
    """Fill messages with the kind's quantities; have no row without a kind."""
    assert set(TOPICS) == set(KINDS)
    for word, topics in TOPICS.items():
        quantities = {each.name for each in KINDS[word].quantities}
        suffixes = [topic.suffix for topic in topics]
        assert len(set(suffixes)) == len(suffixes)
        for topic in topics:
            filled = {field.quantity for field in topic.fields}
            assert filled & quantities or topic.make is not None


@dataclass(frozen=True)
class GaugeSettings:
    """Settings of the demo kind."""

    altitude: float = 0.0


@pytest.fixture
def gauge(monkeypatch):
    """Declare a kind reading the standard atmosphere's pressure, as a temperature."""
    kind = SensorKind(
        'gauge',
        (Quantity('reading', 'K'),),
        MeasuredBy.PLACE,
        'demo',
        settings=GaugeSettings,
        keys={'altitude': Values('5.0', 'of the world [m]', 'altitude', Numbers(minimum=0.0))},
        sdf_types=('gauge',),
        sdf_elements=('gauge',),
    )
    row = SensorTopic('temperature', Temperature, (Field('temperature', 'reading', 'variance'),))
    monkeypatch.setitem(KINDS, 'gauge', kind)
    monkeypatch.setitem(place_readings.CODES, 'gauge', place_readings.AIR_PRESSURE)
    monkeypatch.setitem(TOPICS, 'gauge', (row,))
    return kind


def test_a_new_kind_is_its_record_its_kernel_and_its_row(gauge, tmp_path):
    """Read it from YAML and SDF, sample it with noise, and publish it."""
    settings = {
        'type': 'gauge',
        'link': 'lower_rod',
        'altitude': 100.0,
        'noise': {'reading': {'stddev': 2.0}},
    }
    run = start_recording(tmp_path / 'bag', sensors={'heat': settings})
    for _ in range(20):
        run.simulator.tick()
    device = run.simulator.interfaces[0].robot.device('heat')
    run.recording.close()
    assert type(device) is not sb.AirPressureSensor and device.kind is gauge
    assert 0.0 < abs(device['reading'][0] - device.truth['reading'][0]) < 20.0
    last = messages_on(read_bag(tmp_path / 'bag'), '/heat/temperature', Temperature)[-1]
    assert (last.temperature, last.variance) == (device['reading'][0], 4.0)
    assert last.header.frame_id == 'lower_rod'

    noise = '<reading><noise type="gaussian"><stddev>3</stddev></noise></reading>'
    body = sb.World().load_urdf(
        robot(
            link('base', 1.0),
            '<gazebo reference="base"><sensor name="heat" type="gauge">'
            f'<gauge><altitude>7</altitude>{noise}</gauge></sensor></gazebo>',
        )
    )
    assert not body.description.report.findings
    device = body.device('heat')
    assert device.description.settings == GaugeSettings(7.0)
    assert device.standard_deviations('reading') == 3.0
    np.testing.assert_array_equal(device.kernel_settings, [7.0])
    for wrong, match in (
        ({'type': 'gauge', 'altitude': -1.0}, 'altitude'),
        ({'type': 'pose', 'altitude': 1.0}, 'only gauge sensors'),
    ):
        with pytest.raises(DescriptionError, match=match):
            sensors_from_mapping({'one': {'link': 'base', **wrong}})
