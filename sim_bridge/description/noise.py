"""Noise models in SDF and YAML: names of axes, kinds and quantities; keys and their ranges."""

from __future__ import annotations

from sim_bridge.description.model import SensorKind
from sim_bridge.description.numbers import Numbers

AXES = ('x', 'y', 'z')
KINDS = ('none', 'gaussian', 'gaussian_quantized')

# the quantities of each kind of sensor: of three channels, x, y and z, or of one
QUANTITIES = {
    SensorKind.FORCE_TORQUE: ('force', 'torque'),
    SensorKind.GYRO: ('angular_velocity',),
    SensorKind.ACCELEROMETER: ('linear_acceleration',),
    SensorKind.IMU: ('angular_velocity', 'linear_acceleration'),
    SensorKind.RANGE: ('range',),
    SensorKind.LIDAR: ('range',),
    SensorKind.CONTACT: (),
    SensorKind.MAGNETOMETER: ('magnetic_field',),
    SensorKind.ALTIMETER: ('vertical_position', 'vertical_velocity'),
    SensorKind.AIR_PRESSURE: ('pressure',),
    SensorKind.POSE: ('position',),
}
WITHOUT_AXES = frozenset({'range', 'vertical_position', 'vertical_velocity', 'pressure'})

_NOT_NEGATIVE = Numbers(minimum=0.0)
KEYS = {
    'mean': Numbers(),
    'stddev': _NOT_NEGATIVE,
    'bias_mean': Numbers(),
    'bias_stddev': _NOT_NEGATIVE,
    'dynamic_bias_stddev': _NOT_NEGATIVE,
    'dynamic_bias_correlation_time': _NOT_NEGATIVE,
    'precision': _NOT_NEGATIVE,
    'density': _NOT_NEGATIVE,
}
