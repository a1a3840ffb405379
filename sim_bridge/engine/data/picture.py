"""
Views and pictures.

A *view* has pixels with rays in front of a common frame, the view frame. A lens has one view, but
a view for each cube face if it maps directions beside and behind the camera.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from sim_bridge.compiler.arrays import FloatCube, FloatMatrix, FloatVector, Int32Matrix
from sim_bridge.engine.data.parts import Dims

# columns of View.span
X_LOW, X_HIGH, Y_LOW, Y_HIGH = range(4)


class View(NamedTuple):
    """Pixel rays through a lens, in the view frame; the ray with z = 1 is (x, y, 1)."""

    turn: Annotated[FloatMatrix, Dims(3, 3)]
    """Rotation from the camera frame to the view frame."""
    ray: Annotated[FloatCube, Dims('height', 'width', 2)]
    """x and y of each pixel's ray; nan for pixels of other views and without a ray."""
    span: Annotated[FloatMatrix, Dims('height', 4)]
    """Least and greatest x, least and greatest y in each row; infinite, reversed for none."""
    domain: Annotated[FloatVector, Dims(4)]
    """Bounds of x and y within which `bend` holds, as in `span`."""
    bend: float
    """
    Pixels by which the image of a triangle exceeds the box around its corners' pixels.

    Per square of the triangle's extent in (x, y); 0 for a pinhole.
    """


class Picture(NamedTuple):
    """Surface seen by each pixel."""

    distance: Annotated[FloatMatrix, Dims('height', 'width')]
    """
    Place of the surface as a multiple of the pixel's ray, infinite where nothing is seen.

    PINHOLE and BROWN: depth along the optical axis [m]. Other models: length of the ray [m].
    """
    item: Annotated[Int32Matrix, Dims('height', 'width', points_at='ng')]
    """Geometry seen, or NOTHING."""
    face: Annotated[Int32Matrix, Dims('height', 'width')]
    """Triangle of a mesh or height field seen; face of the other shapes, as in `ray.spans`."""


NOTHING = -1
"""Item of a pixel without a surface."""
