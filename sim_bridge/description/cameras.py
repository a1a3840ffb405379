"""
Cameras: description and checks.

Pixel centres are whole numbers, as in OpenCV: the upper left pixel has its centre at (0, 0). The
optical frame has z forward, x right and y down (REP 103); the sensor frame has x forward and z
up, as in SDF. Distortion coefficients are in OpenCV's order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
import math
from types import MappingProxyType
from typing import Any, NamedTuple

from sim_bridge.description.lenses import FLAT, fold_radius, LENSES, LensModel, maps, radius_at
from sim_bridge.description.report import Findings, Place
from sim_bridge.engine.data.lens import BROWN, RADIAL
from sim_bridge.foundation.errors import InvalidValueError

PICTURES = ('image', 'depth', 'points', 'labels', 'instances')
"""Outputs with numbers for each pixel."""
BOXES = 'boxes'
"""Output: boxes around objects with a label."""
OUTPUTS = (*PICTURES, BOXES)
"""Outputs that a camera can deliver."""
USUAL_OUTPUTS = ('image', 'depth', 'points')
"""Outputs of a camera that names none."""
BOX_TYPES = ('visible_2d', 'full_2d', '3d')
"""
Boxes in messages, as SDF's `box_type`.

visible_2d: around the visible pixels; full_2d: also hidden ones; 3d: in space.
"""
FORMATS = (
    *('rgb8', 'bgr8', 'rgba8', 'bgra8', 'mono8', 'mono16'),
    *('bayer_rggb8', 'bayer_grbg8', 'bayer_gbrg8', 'bayer_bggr8'),
)
"""Encodings of colour images, as in sensor_msgs/Image."""
SAMPLES = (1, 4, 9, 16)
"""Colour samples in a pixel at an edge."""
DEPTH_FORMATS = ('32FC1', '16UC1')
"""Depth encodings: metres as floats, and whole millimetres (REP 118)."""
LAYOUTS = ('ros', 'gazebo', 'gazebo_rgbd', 'gazebo_boxes', 'realsense', 'mujoco')
"""Topic and frame names of cameras, see `ros.camera.topics`."""
ALIGNED = 'aligned'
"""The depth image in the frame of the colour image, which RealSense publishes besides."""
COLORED = 'colored'
"""Gazebo's image with a colour for each label or instance."""
BOXES_3D = 'boxes_3d'
"""Boxes in space, beside those in the picture."""
TOPICS = (
    *(f'{key}{word}' for word in ('', '_info') for key in ('image', 'depth', 'points', ALIGNED)),
    *('labels', 'labels_info', 'instances', 'instances_info', COLORED, BOXES, BOXES_3D),
)
"""Keys in `topics`: a picture, or its camera_info."""
COMPRESSIONS = ('jpeg', 'png')
"""Formats of compressed images."""
MOST_PIXELS = 16_000_000
MOST_EXPOSURE_S = 1.0
"""Greatest exposure and readout time [s]."""
MOST_BLUR_SAMPLES = 64

OPTICAL_AXES = ((0.0, 0.0, 1.0), (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0))
"""Rotation from the optical frame to the sensor frame: rpy (-pi/2, 0, -pi/2)."""


_MOST_COEFFICIENT = 1e6
_NO_PLACES: Mapping[str, Place] = MappingProxyType({})


class Projection(NamedTuple):
    """SDF's `<projection>`: numbers in P alone [px]; tx, ty: its last column."""

    fx: float
    fy: float
    cx: float
    cy: float
    tx: float = 0.0
    ty: float = 0.0


@dataclass(frozen=True)
class CameraNoise:
    """
    Gaussian noise of pixels: shares of white for images, metres for depths.

    per_square: standard deviation over the square of the depth [1/m], added to `stddev`.
    """

    mean: float = 0.0
    stddev: float = 0.0
    per_square: float = 0.0


@dataclass(frozen=True)
class CameraDescription:
    """
    Camera settings.

    outputs: words in OUTPUTS. size: width and height [px]. intrinsics: fx, fy, cx, cy
    and skew [px]; None: from horizontal_fov. horizontal_fov: angle [rad] between the outer edges
    of the leftmost and rightmost pixels, without distortion. lens: word in LENSES. distortion:
    the lens's coefficients; () for none. cutoff: greatest angle from the optical axis [rad], for
    lenses by angle. clip: nearest and farthest depth along the optical axis [m]. format: encoding
    of images, word in FORMATS. depth_format: word in DEPTH_FORMATS. samples: colour samples in
    pixels at edges, in SAMPLES. gain: factor for the light. exposure_time: of a row, about the
    picture's stamp, for motion blur [s]. blur_samples: instants averaged in it. readout: time from
    the first row to the last one of a rolling shutter [s]; 0: all rows at once. image_noise,
    depth_noise: of images, and of depths and points. compression, jpeg_quality: of compressed
    images, word in COMPRESSIONS, and from 1 to 100. latency: simulated time from the exposure
    until a picture is sent [s]. trigger: whether pictures are taken on request only;
    trigger_topic: for requests, '' for the default. box_type: boxes in messages, word in
    BOX_TYPES. projection: numbers published in P; None: the intrinsics. layout: word in LAYOUTS.
    topics: names that replace the layout's, by key in TOPICS.

    Raises InvalidValueError.
    """

    outputs: tuple[str, ...] = USUAL_OUTPUTS
    size: tuple[int, int] = (640, 480)
    horizontal_fov: float = 1.047
    intrinsics: tuple[float, float, float, float, float] | None = None
    lens: str = 'pinhole'
    distortion: tuple[float, ...] = ()
    cutoff: float = math.pi
    clip: tuple[float, float] = (0.01, 100.0)
    format: str = 'rgb8'
    depth_format: str = '32FC1'
    samples: int = 4
    gain: float = 1.0
    exposure_time: float = 0.0
    blur_samples: int = 8
    readout: float = 0.0
    image_noise: CameraNoise = CameraNoise()
    depth_noise: CameraNoise = CameraNoise()
    compression: str = 'jpeg'
    jpeg_quality: int = 95
    latency: float = 0.0
    trigger: bool = False
    trigger_topic: str = ''
    box_type: str = 'visible_2d'
    projection: Projection | None = None
    layout: str = 'ros'
    topics: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        """Check the settings."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        for name, value, expected in _defects(values):
            raise InvalidValueError(name, value, expected, 'CameraDescription')
        object.__setattr__(self, 'topics', MappingProxyType(dict(self.topics)))

    @property
    def width(self) -> int:
        """Columns."""
        return self.size[0]

    @property
    def height(self) -> int:
        """Rows."""
        return self.size[1]

    @property
    def model(self) -> LensModel:
        """The lens model."""
        return LENSES[self.lens]

    @property
    def coefficients(self) -> tuple[float, ...]:
        """Lens numbers for `engine.image.make_lens`."""
        return self.distortion or self.model.preset

    @property
    def pixel_intrinsics(self) -> tuple[float, float, float, float, float]:
        """The engine's lens: scales along u and v, optical axis, skew [px]."""
        if self.intrinsics is not None:
            return self.intrinsics
        focal = (
            0.5 * self.width / radius_at(self.model, self.coefficients, 0.5 * self.horizontal_fov)
        )
        return focal, focal, 0.5 * (self.width - 1), 0.5 * (self.height - 1), 0.0


# the camera's part in the frame of a picture
_REALSENSE_FRAMES = {'image': 'color', ALIGNED: 'color', 'depth': 'depth', 'points': 'depth'}


def frame_name(camera: CameraDescription, name: str, key: str) -> str:
    """Return a picture's own frame; name: camera's. key: output, or ALIGNED."""
    if camera.layout == 'mujoco':
        return f'{name}_frame'
    if camera.layout == 'realsense':
        return f'{name}_{_REALSENSE_FRAMES[key]}_optical_frame'
    return f'{name}_optical_frame'


def read_camera(
    values: Mapping[str, Any],
    place: Place,
    findings: Findings,
    places: Mapping[str, Place] = _NO_PLACES,
) -> CameraDescription:
    """
    Return a camera; every defect is an error in the findings, and a fold a warning.

    values: by field of `CameraDescription`. places: places in a file, by field.
    """
    defects = list(_defects({**_defaults(), **values}))
    for name, value, expected in defects:
        at, attribute = (places[name], '') if name in places else (place, name)
        findings.error('out-of-range', at, f'must be {expected}', attribute, _shown(value))
    if defects:
        return CameraDescription()
    camera = CameraDescription(**values)
    folded = _folded_at(camera)
    if folded is not None:
        message = (
            f'the picture folds {folded:.0f} px from the optical axis; pixels beyond see nothing'
        )
        findings.warning('lens-fold', place, message, 'distortion', _shown(camera.distortion))
    return camera


def _folded_at(camera: CameraDescription) -> float | None:
    """Return the distance from the optical axis [px] of a fold in the picture; None for none."""
    if camera.model.model != BROWN:
        return None
    radius = fold_radius(camera.coefficients)
    fx, fy, cx, cy, _ = camera.pixel_intrinsics
    corners = (
        math.hypot((u - cx) / fx, (v - cy) / fy)
        for u in (0, camera.width - 1)
        for v in (0, camera.height - 1)
    )
    return radius * min(fx, fy) if max(corners) > radius else None


def _defaults() -> dict[str, Any]:
    default = CameraDescription()
    return {each.name: getattr(default, each.name) for each in fields(default)}


def _shown(value: object) -> str:
    return ' '.join(map(str, value)) if isinstance(value, tuple) else str(value)


def _defects(values: Mapping[str, Any]) -> Iterator[tuple[str, object, str]]:
    """Yield name, value and expectation for each wrong setting."""
    yield from _defects_of_words(values)
    lens = values['lens']
    model = LENSES[lens] if lens in LENSES else LENSES['pinhole']
    width, height = values['size']
    if not all(isinstance(n, int) and n >= 1 for n in (width, height)):
        yield 'size', values['size'], 'two whole numbers from 1 on [px]'
    elif width * height > MOST_PIXELS:
        yield 'size', values['size'], f'at most {MOST_PIXELS} pixels'
    yield from _defects_of_exposure(values)
    near, far = values['clip']
    if not (0.0 < near < far):
        yield 'clip', values['clip'], 'a near depth above 0 and a greater far depth [m]'
    distortion = tuple(values['distortion'])
    if lens in LENSES and len(distortion) not in model.counts:
        counts = ' or '.join(map(str, model.counts))
        yield 'distortion', distortion, f'{counts} coefficients for the lens {lens}'
        return
    if not all(abs(each) <= _MOST_COEFFICIENT for each in distortion):
        yield 'distortion', distortion, f'finite coefficients up to {_MOST_COEFFICIENT:g}'
        return
    if not 0.0 < values['cutoff'] <= math.pi:
        yield 'cutoff', values['cutoff'], 'above 0 and at most pi [rad]'
    coefficients = distortion or model.preset
    if model.model == RADIAL and not coefficients[0] * coefficients[1] > 0.0:
        yield 'distortion', distortion, 'c1 and c2 other than 0, with one sign'
        return
    yield from _defects_of_intrinsics(values, model, coefficients)


def _defects_of_words(values: Mapping[str, Any]) -> Iterator[tuple[str, object, str]]:
    """Yield the wrong words."""
    for name, known in (
        ('lens', tuple(LENSES)),
        ('format', FORMATS),
        ('depth_format', DEPTH_FORMATS),
        ('layout', LAYOUTS),
        ('compression', COMPRESSIONS),
        ('box_type', BOX_TYPES),
    ):
        if values[name] not in known:
            yield name, values[name], f'one of {", ".join(known)}'
    outputs = tuple(values['outputs'])
    wrong = [each for each in outputs if each not in OUTPUTS]
    if wrong or not outputs or len(set(outputs)) < len(outputs):
        yield 'outputs', outputs, f'different words of {", ".join(OUTPUTS)}'
    if values['samples'] not in SAMPLES:
        yield 'samples', values['samples'], f'one of {", ".join(map(str, SAMPLES))}'
    quality = values['jpeg_quality']
    if not (isinstance(quality, int) and 1 <= quality <= 100):
        yield 'jpeg_quality', quality, 'a whole number from 1 to 100'
    if not 0.0 <= values['latency'] < math.inf:
        yield 'latency', values['latency'], 'finite and from 0 on [s]'
    for key in values['topics']:
        if key not in TOPICS:
            yield 'topics', key, f'keys from {", ".join(TOPICS)}'


def _defects_of_exposure(values: Mapping[str, Any]) -> Iterator[tuple[str, object, str]]:
    """Yield the wrong numbers for gain and noise."""
    if not 0.0 < values['gain'] < math.inf:
        yield 'gain', values['gain'], 'a finite factor above 0'
    for name in ('exposure_time', 'readout'):
        if not 0.0 <= values[name] <= MOST_EXPOSURE_S:
            yield name, values[name], f'from 0 to {MOST_EXPOSURE_S:g} s'
    count = values['blur_samples']
    if not (isinstance(count, int) and 1 <= count <= MOST_BLUR_SAMPLES):
        yield 'blur_samples', count, f'a whole number from 1 to {MOST_BLUR_SAMPLES}'
    for name in ('image_noise', 'depth_noise'):
        noise = values[name]
        numbers = noise.mean, noise.stddev, noise.per_square
        if not all(map(math.isfinite, numbers)) or min(numbers[1:]) < 0.0:
            yield name, numbers, 'a finite mean, and finite deviations of at least 0'


def _defects_of_intrinsics(
    values: Mapping[str, Any], model: LensModel, coefficients: Sequence[float]
) -> Iterator[tuple[str, object, str]]:
    """Yield the wrong numbers from pixels to angles."""
    given = values['intrinsics']
    if given is not None:
        if not (all(map(math.isfinite, given)) and given[0] > 0.0 and given[1] > 0.0):
            yield 'intrinsics', tuple(given), 'fx and fy above 0 and finite cx, cy, skew [px]'
        return
    fov = values['horizontal_fov']
    most, word = (math.pi, 'below pi') if model.model in FLAT else (math.tau, 'at most 2 pi')
    if not (0.0 < fov < most or (fov == most and model.model not in FLAT)):
        yield 'horizontal_fov', fov, f'above 0 and {word} for the lens {values["lens"]} [rad]'
    elif not maps(model, coefficients, 0.5 * fov):
        yield 'horizontal_fov', fov, f'an angle that the lens {values["lens"]} maps [rad]'
