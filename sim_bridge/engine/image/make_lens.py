"""Lenses made from intrinsics and distortion coefficients."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from sim_bridge.engine.data.lens import COEFFICIENTS, IDENTITY, Lens
from sim_bridge.engine.image.lens import find_limit


def intrinsics_of(
    width: int, height: int, horizontal_fov: float
) -> tuple[float, float, float, float]:
    """
    Return fx, fy, cx, cy [px] for a pinhole camera with square pixels.

    horizontal_fov: angle [rad] between the outer edges at the leftmost and rightmost pixels. The
    optical axis meets the image's middle, at ((width - 1) / 2, (height - 1) / 2) because pixel
    centres are whole numbers.
    """
    focal = 0.5 * width / math.tan(0.5 * horizontal_fov)
    return focal, focal, 0.5 * (width - 1), 0.5 * (height - 1)


def make_lens(
    model: int,
    intrinsics: Sequence[float],
    coefficients: Sequence[float] = (),
    *,
    skew: float = 0.0,
    function: int = IDENTITY,
    cutoff: float = math.pi,
) -> Lens:
    """
    Return a lens.

    intrinsics: fx, fy, cx, cy [px]. coefficients: the model's numbers, see `data.lens`; the
    missing ones are 0. function: SINE …, for RADIAL. cutoff: greatest angle [rad] from the axis,
    for EQUIDISTANT and RADIAL.
    """
    numbers = np.zeros(COEFFICIENTS)
    numbers[: len(coefficients)] = coefficients
    fx, fy, cx, cy = map(float, intrinsics)
    lens = Lens(model, function, fx, fy, cx, cy, float(skew), float(cutoff), numbers)
    return lens._replace(limit=find_limit(lens))
