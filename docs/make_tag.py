"""
Write an AprilTag as a robot, and a scene in front of the arm: `python docs/make_tag.py FOLDER`.

Needs OpenCV. The tag has boxes for its black cells, so its edges are exact at any distance.
"""

from __future__ import annotations

from pathlib import Path
import sys

import cv2
import numpy as np

FAMILY = cv2.aruco.DICT_APRILTAG_36h11
SIDE = 0.12
"""Of the tag with its black border [m]."""
CELLS = 8
SCENE = """\
world:
  ground: {}
  robots:
    tag: {urdf: tag.urdf, base: fixed, position: [1.3, 0.12, 0.75], rpy: [0, 1.5708, 3.1416]}
"""


def tag_urdf(number: int) -> str:
    """Return a tag in the plane z = 0, seen from +z."""
    is_black = cv2.aruco.generateImageMarker(
        cv2.aruco.getPredefinedDictionary(FAMILY), number, CELLS
    )
    cell = SIDE / CELLS
    boxes = [box((1.25 * SIDE, 1.25 * SIDE), (0.0, 0.0), -2e-4, 1)]
    for row, column in np.argwhere(is_black == 0).tolist():
        place = (column - 0.5 * (CELLS - 1)) * cell, (0.5 * (CELLS - 1) - row) * cell
        boxes.append(box((cell, cell), place, -1e-4, 0))
    return f'<robot name="tag"><link name="tag">{"".join(boxes)}</link></robot>'


def box(size: tuple[float, float], place: tuple[float, float], height: float, white: int) -> str:
    """Return a flat visual in white or black."""
    return (
        f'<visual><origin xyz="{place[0]} {place[1]} {height}"/>'
        f'<geometry><box size="{size[0]} {size[1]} 1e-4"/></geometry><material name="m{white}">'
        f'<color rgba="{white} {white} {white} 1"/></material></visual>\n'
    )


if __name__ == '__main__':
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / 'tag.urdf').write_text(tag_urdf(0))
    (folder / 'scene.yaml').write_text(SCENE)
