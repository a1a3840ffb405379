"""Camera constants: image size, lens, clipping distances, and their rays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
import math

import numpy as np

from sim_bridge.engine.data.lens import Lens
from sim_bridge.engine.data.picture import View
from sim_bridge.engine.image.lens import fill_rays
from sim_bridge.engine.image.make_view import make_views
from sim_bridge.foundation.errors import InvalidValueError

MOST_PIXELS = 16_000_000


@dataclass(frozen=True, eq=False)
class Optics:
    """
    Camera constants; they are computed once for all pictures.

    width, height: image size [px]. lens: from `engine.image.make_lens`. near, far: clipping
    distances along the optical axis [m]; for fisheye lenses, `far` along the nearest axis of the
    camera frame.
    """

    width: int
    height: int
    lens: Lens
    near: float = 0.01
    far: float = 100.0

    def __post_init__(self) -> None:
        """Raise InvalidValueError for an invalid size or clip."""
        if min(self.width, self.height) < 1 or self.width * self.height > MOST_PIXELS:
            raise InvalidValueError(
                'size',
                (self.width, self.height),
                f'width and height from 1, at most {MOST_PIXELS} pixels',
            )
        if not 0.0 <= self.near < self.far < math.inf:
            raise InvalidValueError('clip', (self.near, self.far), '0 <= near < far [m], finite')

    @cached_property
    def rays(self) -> np.ndarray:
        """(height, width, 3) directions as in `lens.fill_rays`; nan for pixels without ray."""
        found = np.empty((self.height, self.width, 3))
        fill_rays(self.lens, found)
        return found

    @cached_property
    def views(self) -> list[View]:
        """The lens's views."""
        return make_views(self.lens, self.width, self.height)
