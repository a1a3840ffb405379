"""Places on the Earth: coordinates of WGS 84, the magnetic field, and the files that name them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.description.magnetic_model import magnetic_field
from sim_bridge.description.report import SceneError
from sim_bridge.description.scene.load import read_scene
from sim_bridge.description.scene.origin import origin_from_mapping
from sim_bridge.engine.math.geodesy import ecef_of, geodetic_of
from sim_bridge.foundation.errors import InvalidValueError

# latitude [deg], longitude [deg], height [m]; ECEF by pyproj 3.7.2 (PROJ 9.5.1), EPSG:4979 to 4978
PLACES = [
    ((0.0, 0.0, 0.0), (6378137.0, 0.0, 0.0)),
    ((47.47895, 19.057785, 112.5), (4081962.2725825463, 1410138.8401715504, 4677999.229261435)),
    ((-33.8688, 151.2093, 25.0), (-4646069.463971446, 2553216.3394597117, -3534386.320239747)),
    ((35.6581, 139.7414, -40.0), (-3959278.643493553, 3352797.097791606, 3697411.30425409)),
    ((89.9999, -120.0, 2835.0), (-5.587172982420715, -9.677267476228819, 6359587.314235427)),
    ((-90.0, 0.0, 0.0), (0.0, 0.0, -6356752.314245179)),
    ((64.1466, -21.9426, 8848.86), (2590433.097621506, -1043585.3588242511, 5724823.525490129)),
    ((-0.0001, 179.9999, 4e5), (-6778136.999979418, 11.83008077954588, -11.755559282951314)),
]
# origin, east, north and up [m]; longitude, latitude and height by PROJ's topocentric conversion
LOCAL = [
    (
        (47.47895, 19.057785, 112.5),
        (1234.5, -678.9, 12.3),
        (19.074161179089735, 47.47284264272646, 124.95542637445033),
    ),
    (
        (-33.8688, 151.2093, 25.0),
        (-20000.0, 15000.0, 300.0),
        (150.9934981800468, -33.7333845394313, 374.0240785293281),
    ),
    (
        (80.0, -179.9, 10.0),
        (50000.0, 40000.0, 0.0),
        (-177.22899603048333, 80.34793034688852, 330.38001615554094),
    ),
]
# latitude, longitude [deg], height [km], year; north, east and down [nT] by pygeomag 1.1.0, which
# gives the published test values of WMM2025, such as 6521.6, 145.9, 54791.5 in the first row
FIELDS = [
    ((80, 0, 0, 2025.0), (6521.599441612704, 145.88695646250983, 54791.50766318361)),
    ((0, 120, 0, 2025.0), (39677.75500236645, -109.60630481782252, -10580.16983197215)),
    ((-80, 240, 0, 2025.0), (6117.548186372186, 15751.905837781538, -52022.51937765131)),
    ((80, 0, 100, 2025.0), (6216.016442543415, 92.44402304303479, 52598.83144199079)),
    ((0, 120, 100, 2025.0), (37688.58487413681, -96.23091600609803, -10152.065292175783)),
    ((80, 0, 0, 2027.5), (6500.825519799709, 294.5338385154588, 54869.355449949515)),
    ((-80, 240, 0, 2027.5), (6200.729510392981, 15730.289992897611, -51783.651318496435)),
    ((47.47895, 19.057785, 0.1125, 2026.9), (21160.179502, 2149.498098699, 44382.961998676)),
]


def rounding(distance):
    """Return twice the distance [m] between neighbouring floats, at least that of the radius."""
    return 4.0 * math.ulp(max(distance, 6.4e6))


@pytest.mark.parametrize(('place', 'expected'), PLACES)
def test_places_convert_to_earth_fixed_coordinates_and_back(place, expected):
    """Agree with PROJ to the rounding of coordinates, at poles and at the date line."""
    latitude, longitude = map(math.radians, place[:2])
    axes = math.sin(latitude), math.cos(latitude), math.sin(longitude), math.cos(longitude)
    p = ecef_of(*axes, place[2])
    np.testing.assert_allclose(p, expected, atol=rounding(math.hypot(*p)))
    s, c, sine, cosine, height = geodetic_of(p)
    assert height == pytest.approx(place[2], abs=2 * rounding(math.hypot(*p)))
    assert math.degrees(math.atan2(s, c)) == pytest.approx(place[0], abs=3e-14)
    if abs(place[0]) < 90.0:
        assert math.degrees(math.atan2(sine, cosine)) == pytest.approx(place[1], abs=1e-8)


def test_conversions_are_inverse_from_the_mantle_to_orbit():
    """Return to the same point within rounding, also a picometre beside the pole."""
    rng = np.random.default_rng(2)
    for _ in range(3000):
        latitude = math.asin(rng.uniform(-1, 1))
        if rng.random() < 0.3:
            latitude = math.copysign(math.pi / 2 - 10 ** rng.uniform(-18, -1), latitude)
        longitude, height = rng.uniform(-math.pi, math.pi), rng.uniform(-1e6, 1e7)
        axes = math.sin(latitude), math.cos(latitude), math.sin(longitude), math.cos(longitude)
        p = ecef_of(*axes, height)
        np.testing.assert_allclose(ecef_of(*geodetic_of(p)), p, atol=rounding(math.hypot(*p)))


@pytest.mark.parametrize(('origin', 'position', 'expected'), LOCAL)
def test_a_world_position_has_its_place(origin, position, expected):
    """Agree with PROJ's topocentric conversion to a few nanometres, both ways."""
    origin = sb.Origin(*origin)
    latitude, longitude, altitude = origin.geodetic(position)
    assert (longitude, latitude) == pytest.approx(expected[:2], abs=1e-13)
    assert altitude == pytest.approx(expected[2], abs=6e-9)
    np.testing.assert_allclose(
        origin.position(expected[1], expected[0], expected[2]), position, atol=1e-8
    )


def test_the_heading_turns_the_world_counter_clockwise_from_east():
    """Lead the x axis to the north with 90 degrees, as Gazebo's heading does."""
    turned, plain = sb.Origin(50.0, 8.0, heading=90.0), sb.Origin(50.0, 8.0)
    np.testing.assert_allclose(
        turned.geodetic((100.0, 30.0, 5.0)), plain.geodetic((-30.0, 100.0, 5.0)), atol=1e-9
    )
    north, west, up = turned.magnetic_field
    np.testing.assert_allclose(plain.magnetic_field, (-west, north, up), atol=1e-20)


@pytest.mark.parametrize(('place', 'expected'), FIELDS)
def test_the_magnetic_field_is_that_of_the_world_magnetic_model(place, expected):
    """Agree with another implementation to a picotesla, between epochs too."""
    latitude, longitude, height, year = place
    found = magnetic_field(math.radians(latitude), math.radians(longitude), 1e3 * height, year)
    east, north, up = (1e9 * each for each in found)
    np.testing.assert_allclose((north, east, -up), expected, atol=1e-3)


def test_the_magnetic_field_is_smooth_at_the_pole():
    """Approach the field of the pole along any meridian."""
    for longitude in (0.0, 1.0, 4.0):
        for pole in (math.pi / 2, -math.pi / 2):
            there = magnetic_field(pole, longitude, 0.0, 2026.0)
            beside = magnetic_field(pole * (1.0 - 1e-9), longitude, 0.0, 2026.0)
            np.testing.assert_allclose(there, beside, atol=1e-12)


@pytest.mark.parametrize(
    ('values', 'match'),
    [
        ({'latitude': 91.0}, 'latitude.*-90 to 90'),
        ({'longitude': 400.0}, 'longitude.*-180 to 360'),
        ({'elevation': math.nan}, 'elevation'),
        ({'heading': 'north'}, 'heading'),
        ({'year': 2035.0}, 'year.*2025 to 2030'),
    ],
)
def test_wrong_numbers_are_named(values, match):
    """Name the number and its range."""
    with pytest.raises(InvalidValueError, match=match):
        sb.Origin(**{'latitude': 0.0, 'longitude': 0.0, **values})


WORLD = """<?xml version="1.0"?>
<sdf version="1.9"><world name="field">
  <spherical_coordinates>
    <surface_model>{surface}</surface_model>
    <world_frame_orientation>ENU</world_frame_orientation>
    <latitude_deg>47.47895</latitude_deg><longitude_deg>19.057785</longitude_deg>
    <elevation>112.5</elevation><heading_deg>15</heading_deg>
  </spherical_coordinates>
</world></sdf>
"""


def test_scenes_name_their_place(tmp_path):
    """Read numbers, and the spherical coordinates of a Gazebo world, and set the world's place."""
    assert read_scene({'world': {}}).origin is None
    given = {'latitude': 47.0, 'longitude': 19.0, 'year': 2027.0}
    scene = read_scene({'world': {'origin': given}})
    assert scene.origin == sb.Origin(47.0, 19.0, year=2027.0)
    world = sb.World()
    world.load_scene({'world': {'origin': given}})
    assert world.origin == scene.origin
    (tmp_path / 'field.sdf').write_text(WORLD.format(surface='EARTH_WGS84'))
    path = tmp_path / 'scene.yaml'
    path.write_text('world: {origin: {file: field.sdf, year: 2026.0}}')
    expected = sb.Origin(47.47895, 19.057785, 112.5, 15.0, 2026.0)
    assert read_scene(path).origin == expected
    given = {'file': str(tmp_path / 'field.sdf'), 'year': 2026.0}
    assert origin_from_mapping(given, 'origin') == expected
    assert origin_from_mapping({}, 'origin') is None


@pytest.mark.parametrize(
    ('given', 'match'),
    [
        ({'latitude': 1.0}, 'longitude.*missing'),
        ({'latitude': 1.0, 'longitude': 'east'}, 'longitude.*number'),
        ({'latitude': -91.0, 'longitude': 0.0}, 'latitude.*-90 to 90'),
        ({'latitude': 1.0, 'longitude': 0.0, 'height': 3.0}, 'height.*no such key'),
        ({'file': 'missing.sdf'}, 'missing.sdf'),
        ({'file': 'moon.sdf'}, 'surface_model.*only EARTH_WGS84'),
        ({'file': 'moon.sdf', 'latitude': 1.0}, 'file is given too'),
        ({'file': 'empty.sdf'}, 'spherical_coordinates.*missing'),
    ],
)
def test_wrong_places_in_scenes_are_named(tmp_path, given, match):
    """Name the key and the accepted values."""
    (tmp_path / 'moon.sdf').write_text(WORLD.format(surface='MOON_SCS'))
    (tmp_path / 'empty.sdf').write_text('<sdf version="1.9"><world name="w"/></sdf>')
    path = tmp_path / 'scene.yaml'
    path.write_text(f'world: {{origin: {given}}}')
    with pytest.raises(SceneError, match=match):
        read_scene(path)


def test_the_place_belongs_to_the_world_and_its_hash():
    """Keep the place in copies and snapshots; tell worlds at other places apart."""
    place = sb.Origin(10.0, 20.0, 30.0)
    world, other = sb.World(origin=place), sb.World()
    assert world.copy().origin == place
    assert world.state_hash() != other.state_hash()
    saved = world.save()
    world.origin = None
    assert world.state_hash() == other.state_hash()
    world.restore(saved)
    assert world.origin == place
    with pytest.raises(InvalidValueError, match='origin'):
        world.origin = (1.0, 2.0)
