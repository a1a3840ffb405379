"""
Sensor kinds: one record per kind, found by its word.

A record declares a kind once: its words in every file format, its quantities, its settings, where
it is mounted and how it is measured. File readers, devices, noise, messages, the live page and the
documents look the record up. docs/extending/sensor.md lists the other files of a new kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
import enum
import math
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from sim_bridge.description.cameras import (
    BOX_TYPES,
    CameraDescription,
    CameraNoise,
    COMPRESSIONS,
    DEPTH_FORMATS,
    FORMATS,
    LAYOUTS,
    OUTPUTS,
    read_camera,
    TOPICS,
    USUAL_OUTPUTS,
)
from sim_bridge.description.lenses import LENSES
from sim_bridge.description.numbers import Numbers
from sim_bridge.description.origin import Origin
from sim_bridge.description.rays import ANGLES, RADIATIONS, RANGE, RaySettings, read_rays
from sim_bridge.description.report import Findings, Place
from sim_bridge.foundation.errors import InvalidValueError

AXES = ('x', 'y', 'z')
# wrench axes and wrench sign in force-torque sensors
WRENCH_FRAMES = ('sensor', 'child', 'parent')
WRENCH_DIRECTIONS = ('child_to_parent', 'parent_to_child')


class MeasuredBy(enum.Enum):
    """
    How a sensor is measured: each member is one kernel family in `sensors`.

    MOTION: sensor frame motion and joint wrench (`readings`). PLACE: sensor frame pose and
    velocity in the world (`place_readings`). RAYS: distances along rays (`measure`). CONTACTS:
    contacts on the link (`measure`). IMAGE: all link frames, rendered when they are wanted
    (`measure`, `cameras`).
    """

    MOTION = 'motion'
    PLACE = 'place'
    RAYS = 'rays'
    CONTACTS = 'contacts'
    IMAGE = 'image'


@dataclass(frozen=True)
class Quantity:
    """
    A measured quantity.

    name: in YAML and for `device[name]`. unit: symbol for people, '' for none. size: how many
    numbers it has in a sample; None: the settings' `count`. axes: names of channels with a noise
    model each; () if one model is for all numbers. has_noise: whether a device has a noise model
    for it.
    """

    name: str
    unit: str = ''
    size: int | None = 1
    axes: tuple[str, ...] = ()
    has_noise: bool = True


@dataclass(frozen=True)
class _Described:
    """
    A setting that some kind has.

    example: value in YAML, for documents. doc: meaning, unit and alternatives. tag: SDF element,
    '' if SDF has none.
    """

    example: str
    doc: str
    tag: str = ''


@dataclass(frozen=True)
class Choice(_Described):
    """One word from several."""

    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Switch(_Described):
    """True or false: whether the sensor has the quantity with this name."""

    quantity: str = ''


@dataclass(frozen=True)
class Values(_Described):
    """One number, or a tuple of several."""

    numbers: Numbers = Numbers()


@dataclass(frozen=True)
class Text(_Described):
    """A name, '' for the default."""


@dataclass(frozen=True)
class Names(_Described):
    """A list of names; in SDF an element for each."""


@dataclass(frozen=True)
class Section(_Described):
    """Numbers by keys."""

    keys: Mapping[str, Numbers] = field(default_factory=dict)


@dataclass(frozen=True)
class NumberList(_Described):
    """Numbers, as many as the sensor's other settings demand."""


@dataclass(frozen=True)
class Texts(_Described):
    """Texts by keys."""

    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sections(_Described):
    """Sections by keys."""

    keys: Mapping[str, Mapping[str, Numbers]] = field(default_factory=dict)


Setting: TypeAlias = (
    Choice | Switch | Values | Text | Names | Section | Sections | NumberList | Texts
)


@dataclass(frozen=True)
class NoSettings:
    """Settings for a kind without any."""


@dataclass(frozen=True)
class WrenchSettings:
    """
    Settings for a force-torque sensor, as in SDF.

    frame: wrench axes and origin, one of WRENCH_FRAMES: 'sensor' is about the sensor's origin,
    'child' and 'parent' (the joint's links) are about the joint's origin. measure_direction: one
    of WRENCH_DIRECTIONS.
    """

    frame: str = 'sensor'
    measure_direction: str = 'child_to_parent'


@dataclass(frozen=True)
class ImuSettings:
    """Settings for an IMU; enable_orientation: whether its messages hold the orientation."""

    enable_orientation: bool = True


@dataclass(frozen=True)
class ContactSettings:
    """Settings for a contact sensor; collisions: watched collisions on the link, () for all."""

    collisions: tuple[str, ...] = ()


@dataclass(frozen=True)
class MagneticSettings:
    """
    Settings for a magnetometer.

    magnetic_field: the world's [T], world axes; None: the field at the world's place on the Earth,
    or Gazebo's default if the place is not known.
    """

    magnetic_field: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class PressureSettings:
    """
    Settings for a barometer.

    reference_altitude: world origin above the sea [m]; None: the elevation of the world's place on
    the Earth, or 0 if the place is not known.
    """

    reference_altitude: float | None = None


# words for sensor_msgs/NavSatStatus, with their numbers there
FIX_STATUS: Mapping[str, int] = MappingProxyType(
    {'no_fix': -1, 'fix': 0, 'sbas_fix': 1, 'gbas_fix': 2}
)
FIX_SERVICES: Mapping[str, int] = MappingProxyType(
    {'gps': 1, 'glonass': 2, 'compass': 4, 'galileo': 8}
)
VELOCITY_AXES = ('enu', 'nwu')
VELOCITY_MESSAGES = ('vector', 'twist')


@dataclass(frozen=True)
class NavSatSettings:
    """
    Settings for a satellite navigation receiver.

    origin: the world origin's place for this sensor alone; None: the world's. status, service:
    words in FIX_STATUS and FIX_SERVICES. velocity_axes: word in VELOCITY_AXES, 'nwu' for north,
    west, up. velocity_message: word in VELOCITY_MESSAGES. velocity_topic: '' for the default.
    """

    origin: Origin | None = None
    status: str = 'fix'
    service: str = 'gps'
    velocity_axes: str = 'enu'
    velocity_message: str = 'vector'
    velocity_topic: str = ''


@dataclass(frozen=True, eq=False)
class SensorKind:
    """
    A sensor kind declaration.

    word: in YAML, unique. quantities: in sample order. measured_by: kernel family; the family's
    `CODES` has the kernel by the word. doc: short description, for documents. takes_noise: whether
    files may give noise models.

    settings: frozen dataclass with the settings and their defaults. keys: the settings in files,
    by YAML key; the `settings` fields have these names. build: returns the settings for some keys'
    values, if the names differ. numbers: returns the kernel's numbers for the settings and the
    world's place on the Earth, always equally many (MeasuredBy.PLACE only); None for the settings'
    fields in order.

    on_joint: whether it measures a joint; else it is mounted on a link.

    sdf_types: words for `<sensor type="…">` in `<gazebo>`. robot_types: further words in a
    `<sensor>` under `<robot>`. sdf_elements: tags for the element with noise and settings.
    sdf_tags: further tags allowed in it. has_inner_topic: whether its `<topic>` is the topic.
    noise_of_element: quantity whose axes are directly in it, '' if each quantity has an element.

    interfaces: sets of `<state_interface>` quantities; a `<sensor>` in `<ros2_control>` with all
    quantities from one set has this kind. body_types: types in Choreonoid's body files.

    remembers: whether a sample depends on the one before, so that none may be left out.
    usual_rate: default rate [Hz]; 0 for every step.
    """

    word: str
    quantities: tuple[Quantity, ...]
    measured_by: MeasuredBy
    doc: str
    takes_noise: bool = True
    settings: type[Any] = NoSettings
    keys: Mapping[str, Setting] = field(default_factory=lambda: MappingProxyType({}))
    build: Callable[[Mapping[str, Any], Place, Findings], Any] | None = None
    numbers: Callable[[Any, Origin | None], Sequence[float]] | None = None
    on_joint: bool = False
    sdf_types: tuple[str, ...] = ()
    robot_types: tuple[str, ...] = ()
    sdf_elements: tuple[str, ...] = ()
    sdf_tags: tuple[str, ...] = ()
    has_inner_topic: bool = False
    noise_groups: Mapping[str, tuple[str, Mapping[str, tuple[str, ...]]]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    noise_of_element: str = ''
    interfaces: tuple[frozenset[str], ...] = ()
    body_types: tuple[str, ...] = ()
    remembers: bool = False
    usual_rate: float = 0.0

    def __repr__(self) -> str:
        """Show the word."""
        return f'<SensorKind {self.word!r}>'

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the word for copies and pickles: a kind is one object in a process."""
        return kind_of_word, (self.word,)

    def sizes(self, settings: Any) -> dict[str, int]:
        """Return each quantity's size, for a sensor with these settings."""
        return {
            each.name: settings.count if each.size is None else each.size
            for each in self.quantities
        }

    @property
    def noisy(self) -> dict[str, Quantity]:
        """The quantities for which files may give noise models, by name."""
        return {each.name: each for each in self.quantities if each.has_noise and self.takes_noise}

    def settings_from(self, values: Mapping[str, Any], place: Place, findings: Findings) -> Any:
        """Return the settings for some keys' values; errors are added to the findings."""
        if self.build is not None:
            return self.build(values, place, findings)
        return self.settings(**values)

    def kernel_numbers(self, settings: Any, origin: Origin | None) -> list[float]:
        """Return the kernel's numbers for a kind measured by place; origin: the world's place."""
        if self.measured_by is not MeasuredBy.PLACE:
            return []
        if self.numbers is not None:
            return list(self.numbers(settings, origin))
        values = (getattr(settings, each.name) for each in fields(settings))
        return [float(n) for value in values for n in np.ravel(value)]


KINDS: dict[str, SensorKind] = {}
"""All kinds, by word. Robots publish their sensor topics in this order."""


def kind_of_word(word: str) -> SensorKind:
    """Return the kind with this YAML word."""
    return KINDS[word]


def declare(kind: SensorKind) -> SensorKind:
    """Add a kind to KINDS and return it."""
    KINDS[kind.word] = kind
    return kind


def keys_of_all() -> dict[str, list[SensorKind]]:
    """Return the setting keys in all kinds, with the kinds that have them."""
    found: dict[str, list[SensorKind]] = {}
    for kind in KINDS.values():
        for key in kind.keys:
            found.setdefault(key, []).append(kind)
    return found


def words_of(kinds: Iterable[SensorKind]) -> str:
    """Return the words for some kinds, for messages."""
    return ' and '.join(sorted(kind.word for kind in kinds))


def _vector(name: str, unit: str) -> Quantity:
    return Quantity(name, unit, 3, AXES)


def _build_rays(values: Mapping[str, Any], place: Place, findings: Findings) -> RaySettings:
    return read_rays(
        values.get('horizontal', {}),
        values.get('vertical', {}),
        values.get('range', {}),
        place,
        findings,
        values.get('radiation', RaySettings.radiation),
    )


# Gazebo's magnetic field [T], world axes
_GAZEBO_FIELD = (5.5645e-6, 22.8758e-6, -42.3884e-6)


def _magnetic_numbers(settings: MagneticSettings, origin: Origin | None) -> Sequence[float]:
    """Return the world's field (3,) [T]."""
    if settings.magnetic_field is not None:
        return settings.magnetic_field
    return _GAZEBO_FIELD if origin is None else origin.magnetic_field


def _pressure_numbers(settings: PressureSettings, origin: Origin | None) -> Sequence[float]:
    """Return the world origin's altitude (1,) [m]."""
    if settings.reference_altitude is not None:
        return (settings.reference_altitude,)
    return (0.0 if origin is None else origin.elevation,)


def _fix_numbers(settings: NavSatSettings, origin: Origin | None) -> Sequence[float]:
    """Return the place (21,) and whether velocities are north, west, up; nan without a place."""
    place = settings.origin or origin
    axes = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    numbers = (*[math.nan] * 3, *axes, *axes) if place is None else place.kernel_numbers
    return [*numbers, float(settings.velocity_axes == 'nwu')]


def _build_fix(values: Mapping[str, Any], place: Place, findings: Findings) -> NavSatSettings:
    """Return a receiver's settings; `origin` has the keys in `Origin`."""
    given = dict(values)
    keys = given.pop('origin', None)
    if keys is None:
        return NavSatSettings(**given)
    try:
        return NavSatSettings(Origin(**{'latitude': 0.0, 'longitude': 0.0, **keys}), **given)
    except InvalidValueError as err:
        findings.error('out-of-range', place, str(err), 'origin')
        return NavSatSettings(**given)


def _whole(number: float) -> float | int:
    """Return a whole number as an integer, and others unchanged."""
    return int(number) if number == int(number) else number


def _build_camera(
    values: Mapping[str, Any], place: Place, findings: Findings
) -> CameraDescription:
    """Return a camera; whole numbers are given as floats, `intrinsics` as numbers by key."""
    given = dict(values)
    if 'size' in given:
        given['size'] = tuple(map(_whole, given['size']))
    for key in ('samples', 'jpeg_quality'):
        if key in given:
            given[key] = _whole(given[key])
    if given.get('layout') == 'realsense':
        given.setdefault('depth_format', '16UC1')
    if 'intrinsics' in given:
        numbers = given['intrinsics']
        missing = [key for key in ('fx', 'fy', 'cx', 'cy') if key not in numbers]
        if missing:
            findings.error('missing-attribute', place, f'needs {", ".join(missing)}', 'intrinsics')
            return CameraDescription()
        given['intrinsics'] = tuple(numbers.get(key, 0.0) for key in _INTRINSICS)
    exposure = given.pop('exposure', {})
    given |= {_EXPOSURE[key]: value for key, value in exposure.items()}
    if 'blur_samples' in given:
        given['blur_samples'] = _whole(given['blur_samples'])
    for key, numbers in given.pop('noise', {}).items():
        given[f'{key}_noise'] = CameraNoise(**numbers)
    return read_camera(given, place, findings)


_INTRINSICS = ('fx', 'fy', 'cx', 'cy', 'skew')
_EXPOSURE = {
    'gain': 'gain',
    'time': 'exposure_time',
    'blur_samples': 'blur_samples',
    'readout': 'readout',
}
_DEVIATION = Numbers(minimum=0.0)
_ORIENTATION = Quantity('orientation', size=4, has_noise=False)
_ANGULAR_VELOCITY = _vector('angular_velocity', 'rad/s')
_LINEAR_ACCELERATION = _vector('linear_acceleration', 'm/s²')
_RAYS: dict[str, Setting] = {
    'horizontal': Section(
        '{samples: 360, min_angle: -3.14, max_angle: 3.14}',
        'angles about z [rad]; one ray ahead if absent',
        keys=ANGLES,
    ),
    'vertical': Section(
        '{samples: 16, min_angle: -0.26, max_angle: 0.26}',
        'elevations [rad]; one row if absent',
        keys=ANGLES,
    ),
    'range': Section('{min: 0.1, max: 30.0, resolution: 0.01}', 'distances [m]', keys=RANGE),
}

FORCE_TORQUE = declare(
    SensorKind(
        'force_torque',
        (_vector('force', 'N'), _vector('torque', 'N m')),
        MeasuredBy.MOTION,
        'force and torque through a joint, of the child on the parent',
        settings=WrenchSettings,
        keys={
            'frame': Choice(
                'sensor', 'axes of the wrench; or child, parent', 'frame', WRENCH_FRAMES
            ),
            'measure_direction': Choice(
                'child_to_parent', 'or parent_to_child', 'measure_direction', WRENCH_DIRECTIONS
            ),
        },
        on_joint=True,
        sdf_types=('force_torque',),
        sdf_elements=('force_torque',),
        interfaces=(frozenset({'force'}), frozenset({'torque'})),
        body_types=('ForceSensor',),
    )
)
IMU = declare(
    SensorKind(
        'imu',
        (_ORIENTATION, _ANGULAR_VELOCITY, _LINEAR_ACCELERATION),
        MeasuredBy.MOTION,
        'orientation, angular velocity and proper acceleration',
        settings=ImuSettings,
        keys={
            'enable_orientation': Switch(
                'true', 'publish the orientation', 'enable_orientation', 'orientation'
            )
        },
        sdf_types=('imu',),
        sdf_elements=('imu',),
        sdf_tags=('noise', 'orientation_reference_frame', 'topic'),
        interfaces=(
            frozenset({'orientation'}),
            frozenset({'angular_velocity', 'linear_acceleration'}),
        ),
        body_types=('IMU', 'Imu'),
        remembers=True,
    )
)
GYRO = declare(
    SensorKind(
        'gyro',
        (_ANGULAR_VELOCITY,),
        MeasuredBy.MOTION,
        'angular velocity',
        robot_types=('gyroscope',),
        sdf_elements=('imu',),
        interfaces=(frozenset({'angular_velocity'}),),
        body_types=('RateGyroSensor',),
    )
)
ACCELEROMETER = declare(
    SensorKind(
        'accelerometer',
        (_LINEAR_ACCELERATION,),
        MeasuredBy.MOTION,
        'proper acceleration',
        robot_types=('accelerometer',),
        sdf_elements=('imu',),
        interfaces=(frozenset({'linear_acceleration'}),),
        body_types=('AccelerationSensor', 'AccelSensor'),
    )
)
RANGE_SENSOR = declare(
    SensorKind(
        'range',
        (Quantity('range', 'm'),),
        MeasuredBy.RAYS,
        'least distance along its rays',
        settings=RaySettings,
        build=_build_rays,
        keys={**_RAYS, 'radiation': Choice('infrared', 'or ultrasound', choices=RADIATIONS)},
        sdf_types=('sonar',),
        sdf_elements=('sonar',),
    )
)
LIDAR = declare(
    SensorKind(
        'lidar',
        (Quantity('range', 'm', None),),
        MeasuredBy.RAYS,
        'distance along each ray',
        settings=RaySettings,
        build=_build_rays,
        keys=_RAYS,
        sdf_types=('lidar', 'gpu_lidar', 'ray', 'gpu_ray'),
        sdf_elements=('lidar', 'ray'),
        body_types=('RangeSensor',),
    )
)
CONTACT = declare(
    SensorKind(
        'contact',
        (
            _vector('force', 'N'),
            _vector('torque', 'N m'),
            Quantity('contact_count', has_noise=False),
        ),
        MeasuredBy.CONTACTS,
        'sum of the contacts of a link',
        takes_noise=False,
        settings=ContactSettings,
        keys={'collisions': Names('[pad]', 'collisions of the link; all if absent', 'collision')},
        sdf_types=('contact',),
        sdf_elements=('contact',),
        sdf_tags=('topic',),
        has_inner_topic=True,
    )
)
MAGNETOMETER = declare(
    SensorKind(
        'magnetometer',
        (_vector('magnetic_field', 'T'),),
        MeasuredBy.PLACE,
        'magnetic field of the world',
        settings=MagneticSettings,
        keys={
            'magnetic_field': Values(
                '[5.5645e-6, 22.8758e-6, -42.3884e-6]',
                "of the world [T]; that of the world's origin on the Earth if absent",
                numbers=Numbers(3),
            )
        },
        numbers=_magnetic_numbers,
        sdf_types=('magnetometer',),
        sdf_elements=('magnetometer',),
        noise_of_element='magnetic_field',
    )
)
ALTIMETER = declare(
    SensorKind(
        'altimeter',
        (Quantity('vertical_position', 'm'), Quantity('vertical_velocity', 'm/s')),
        MeasuredBy.PLACE,
        'height above the world origin, and its rate',
        sdf_types=('altimeter',),
        sdf_elements=('altimeter',),
        sdf_tags=('topic',),
    )
)
AIR_PRESSURE = declare(
    SensorKind(
        'air_pressure',
        (Quantity('pressure', 'Pa'),),
        MeasuredBy.PLACE,
        'pressure of the standard atmosphere',
        settings=PressureSettings,
        keys={
            'reference_altitude': Values(
                '200.0',
                "world origin above the sea [m]; the origin's elevation if absent",
                'reference_altitude',
            )
        },
        numbers=_pressure_numbers,
        sdf_types=('air_pressure',),
        sdf_elements=('air_pressure',),
        sdf_tags=('topic',),
    )
)
_HORIZONTAL_AND_VERTICAL = MappingProxyType({'horizontal': ('x', 'y'), 'vertical': ('z',)})
NAVSAT = declare(
    SensorKind(
        'navsat',
        (
            _vector('position', 'm'),
            _vector('velocity', 'm/s'),
            Quantity('latitude', 'deg', has_noise=False),
            Quantity('longitude', 'deg', has_noise=False),
            Quantity('altitude', 'm', has_noise=False),
        ),
        MeasuredBy.PLACE,
        'latitude, longitude and altitude (WGS 84), and velocity',
        settings=NavSatSettings,
        build=_build_fix,
        numbers=_fix_numbers,
        keys={
            'origin': Section(
                '{latitude: 47.4, longitude: 19.1, elevation: 112.0, heading: 0.0}',
                "place of the world's origin for this sensor alone; the world's if absent",
                keys={key: Numbers() for key in ('latitude', 'longitude', 'elevation', 'heading')},
            ),
            'status': Choice('fix', 'or no_fix, sbas_fix, gbas_fix', choices=tuple(FIX_STATUS)),
            'service': Choice('gps', 'or glonass, compass, galileo', choices=tuple(FIX_SERVICES)),
            'velocity_axes': Choice(
                'enu', 'east, north, up; or nwu: north, west, up', choices=VELOCITY_AXES
            ),
            'velocity_message': Choice(
                'vector', 'Vector3Stamped; or twist: TwistStamped', choices=VELOCITY_MESSAGES
            ),
            'velocity_topic': Text('gps/vel', 'topic of the velocity'),
        },
        sdf_types=('navsat', 'gps'),
        sdf_elements=('navsat', 'gps'),
        sdf_tags=('topic',),
        noise_groups=MappingProxyType(
            {
                'position_sensing': ('position', _HORIZONTAL_AND_VERTICAL),
                'velocity_sensing': ('velocity', _HORIZONTAL_AND_VERTICAL),
            }
        ),
        interfaces=(frozenset({'latitude', 'longitude', 'altitude'}),),
    )
)
POSE = declare(
    SensorKind(
        'pose',
        (_vector('position', 'm'), _ORIENTATION),
        MeasuredBy.PLACE,
        'position and orientation in the world',
    )
)
CAMERA = declare(
    SensorKind(
        'camera',
        (),
        MeasuredBy.IMAGE,
        'image, depth, points, labels and boxes of the visuals',
        takes_noise=False,
        settings=CameraDescription,
        build=_build_camera,
        keys={
            'outputs': Names(
                '[image, depth]', f'of {", ".join(OUTPUTS)}; {", ".join(USUAL_OUTPUTS)} if absent'
            ),
            'size': Values('[640, 480]', 'width and height [px]', numbers=Numbers(2)),
            'horizontal_fov': Values(
                '1.047', 'angle between the left and the right edge of the picture [rad]'
            ),
            'intrinsics': Section(
                '{fx: 554.0, fy: 554.0, cx: 319.5, cy: 239.5}',
                'instead of horizontal_fov [px]; pixel centres are whole numbers; skew too',
                keys={key: Numbers() for key in _INTRINSICS},
            ),
            'lens': Choice('plumb_bob', f'or {", ".join(LENSES)}', choices=tuple(LENSES)),
            'distortion': NumberList('[0.1, -0.2, 0.0, 0.0, 0.0]', "in OpenCV's order"),
            'cutoff': Values('1.57', 'greatest angle from the optical axis [rad]'),
            'clip': Values('[0.01, 100.0]', 'nearest and farthest depth [m]', numbers=Numbers(2)),
            'format': Choice('rgb8', f'or {", ".join(FORMATS[1:])}', choices=FORMATS),
            'samples': Values('4', 'colour samples in pixels at edges; or 1, 9, 16'),
            'exposure': Section(
                '{gain: 1.0, time: 0.01, blur_samples: 8, readout: 0.02}',
                'factor for the light; time of a row, for motion blur, and from the first row to '
                'the last, for a rolling shutter [s]',
                keys={key: Numbers() for key in _EXPOSURE},
            ),
            'noise': Sections(
                '{image: {stddev: 0.007}, depth: {stddev: 0.002, per_square: 0.001}}',
                'of images [shares of white], of depths [m], and over the square of the depth',
                keys={
                    'image': {'mean': Numbers(), 'stddev': _DEVIATION},
                    'depth': {'mean': Numbers(), 'stddev': _DEVIATION, 'per_square': _DEVIATION},
                },
            ),
            'depth_format': Choice('32FC1', 'metres; or 16UC1: mm', choices=DEPTH_FORMATS),
            'compression': Choice('jpeg', 'compressed images; or png', choices=COMPRESSIONS),
            'jpeg_quality': Values('95', 'from 1 to 100'),
            'latency': Values('0.02', 'simulated time until a picture is sent [s]'),
            'trigger': Switch('false', 'take pictures on request only: service `trigger`'),
            'trigger_topic': Text('eye/trigger', 'topic of requests'),
            'box_type': Choice(
                'full_2d', f'boxes in messages; or {", ".join(BOX_TYPES)}', choices=BOX_TYPES
            ),
            'layout': Choice('ros', f'topic names; or {", ".join(LAYOUTS[1:])}', choices=LAYOUTS),
            'topics': Texts('{depth: camera/depth}', f'by {", ".join(TOPICS)}', keys=TOPICS),
        },
        sdf_types=(
            'camera',
            'depth_camera',
            'depth',
            'rgbd_camera',
            'rgbd',
            'wide_angle_camera',
            'wideanglecamera',
            'multicamera',
            'segmentation_camera',
            'segmentation',
            'boundingbox_camera',
            'boundingbox',
        ),
        sdf_elements=('camera',),
        usual_rate=30.0,
    )
)
