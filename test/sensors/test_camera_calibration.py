"""Cameras against OpenCV: calibration from pictures of boards, and poses of ArUco markers."""

from __future__ import annotations

from boards import board, checkerboard, DICTIONARY, marker
import cv2
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.foundation.srgb import linear_from_srgb

SIDE = 0.04
CORNERS = (8, 6)  # inner ones, along x and y
# a camera at the origin that looks along x, z is up
OPTICAL = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])


def lit_world():
    """Return a world in which surfaces have their own colours."""
    world = sb.World(gravity=(0, 0, 0))
    world.surroundings = sb.Surroundings(
        [], ambient=(1, 1, 1), horizon=(0.5,) * 3, zenith=(0.5,) * 3
    )
    return world


def show(robot, rotation, translation):
    """Place a board by its pose in the optical frame, with OpenCV's axes (y down, z away)."""
    # the board's own axes have y up and z towards the camera
    turn = OPTICAL @ rotation @ np.diag([1.0, -1.0, -1.0])
    robot.set_base_pose(OPTICAL @ translation, quaternion_from_matrix(turn))


def views(count, size, intrinsics):
    """Yield rotations and translations that fill all parts of a picture."""
    random = np.random.default_rng(3)
    fx, fy, cx, cy = intrinsics
    for angle in np.linspace(0.0, 2 * np.pi, count, endpoint=False):
        rotation = cv2.Rodrigues(0.55 * np.array([np.cos(angle), np.sin(angle), 0.0]))[0]
        depth = random.uniform(0.42, 0.55)
        u, v = random.uniform(0.4, 0.6, 2) * size
        yield rotation, np.array([(u - cx) / fx * depth, (v - cy) / fy * depth, depth])


def linear_picture(camera):
    """
    Return a picture in linear light, as from a camera of machine vision.

    sRGB widens white: an edge between black and white moves by a quarter of a pixel.
    """
    levels = np.round(255.0 * linear_from_srgb(np.linspace(0.0, 1.0, 256)))
    return levels.astype(np.uint8)[camera.render('image')]


def calibrated(settings, flags=0):
    """Return OpenCV's calibration from pictures of a checkerboard, and the camera."""
    world = lit_world()
    camera = world.add_camera((0, 0, 0), (1, 0, 0), 'eye', camera=settings)
    squares = checkerboard(CORNERS[1] + 1, CORNERS[0] + 1)
    shown = world.load_urdf(board(squares, SIDE, SIDE), base='fixed')
    grid = np.zeros((CORNERS[0] * CORNERS[1], 3), np.float32)
    grid[:, :2] = SIDE * np.mgrid[: CORNERS[0], : CORNERS[1]].T.reshape(-1, 2)
    grid[:, :2] -= grid[:, :2].mean(axis=0)
    found, known = [], []
    intrinsics = camera.K[0, 0], camera.K[1, 1], camera.K[0, 2], camera.K[1, 2]
    for rotation, translation in views(20, settings.size, intrinsics):
        show(shown, rotation, translation)
        seen, corners = cv2.findChessboardCornersSB(
            linear_picture(camera), CORNERS, flags=cv2.CALIB_CB_ACCURACY
        )
        if seen:
            # the detector may begin at either end
            corners = corners.reshape(-1, 2)
            if corners[0, 0] > corners[-1, 0]:
                corners = corners[::-1]
            found.append(np.ascontiguousarray(corners))
            known.append(grid)
    assert len(found) >= 20
    error, K, D, *_ = cv2.calibrateCamera(known, found, settings.size, None, None, flags=flags)
    return error, K, D.ravel(), camera


LENS = (-0.25, 0.08, 0.001, -0.0015, 0.0)


@pytest.mark.parametrize(
    ('lens', 'flags'),
    [
        ({}, cv2.CALIB_FIX_K1 | cv2.CALIB_FIX_K2 | cv2.CALIB_FIX_K3 | cv2.CALIB_ZERO_TANGENT_DIST),
        ({'lens': 'plumb_bob', 'distortion': LENS}, cv2.CALIB_FIX_K3),
    ],
    ids=['pinhole', 'plumb_bob'],
)
def test_calibration_recovers_the_declared_intrinsics(lens, flags):
    """Find f within 0.1 %, c within 0.2 px, and rays within 0.3 px where the boards were."""
    settings = sb.CameraDescription(
        size=(640, 480),
        intrinsics=(500.0, 503.0, 325.0, 236.0, 0.0),
        outputs=('image',),
        samples=16,
        format='mono8',
        **lens,
    )
    error, K, D, camera = calibrated(settings, flags)
    assert error < 0.05
    assert [K[0, 0], K[1, 1]] == pytest.approx([500.0, 503.0], rel=1e-3)
    assert [K[0, 2], K[1, 2]] == pytest.approx([325.0, 236.0], abs=0.2)
    pixels = np.stack(np.meshgrid(np.arange(0, 640.0, 40), np.arange(0, 480.0, 40)), -1)
    rays = camera.rays[::40, ::40].reshape(-1, 3)
    again = cv2.projectPoints(rays, np.zeros(3), np.zeros(3), K, D)[0].reshape(pixels.shape)
    assert np.abs(again - pixels)[2:-2, 3:-2].max() < 0.3


@pytest.mark.parametrize('tilt', [(0.0, 0.0, 0.0), (0.5, -0.2, 0.3), (-0.4, 0.6, 1.0)])
def test_markers_have_their_pose(tilt):
    """Find an ArUco marker at 0.5 m within 1 mm and 0.2 degrees."""
    side = 0.2
    world = lit_world()
    camera = world.add_camera(
        (0, 0, 0),
        (1, 0, 0),
        'eye',
        camera=sb.CameraDescription(outputs=('image',), format='mono8', samples=16),
    )
    shown = world.load_urdf(board(marker(7), side / 6, 0.03), base='fixed')
    rotation, translation = cv2.Rodrigues(np.array(tilt))[0], np.array([0.02, -0.01, 0.5])
    show(shown, rotation, translation)
    parameters = cv2.aruco.DetectorParameters()
    parameters.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
    found, numbers, _ = cv2.aruco.ArucoDetector(DICTIONARY, parameters).detectMarkers(
        linear_picture(camera)
    )
    assert numbers.ravel().tolist() == [7]
    half = 0.5 * side
    # from the upper left corner on, clockwise
    corners = np.array([[-half, -half, 0], [half, -half, 0], [half, half, 0], [-half, half, 0]])
    _, turn, place = cv2.solvePnP(
        corners, found[0].reshape(4, 2), camera.K, camera.D, flags=cv2.SOLVEPNP_IPPE
    )
    assert place.ravel() == pytest.approx(translation, abs=1e-3)
    difference = cv2.Rodrigues(cv2.Rodrigues(turn)[0] @ rotation.T)[0]
    assert np.degrees(np.linalg.norm(difference)) < 0.2
