"""Hashes of camera pictures, for bags: equal pixels have equal hashes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import hashlib

import numpy as np

from sim_bridge.description.cameras import CameraDescription, PICTURES
from sim_bridge.sensors.cameras import CameraSensor
from sim_bridge.sensors.step_and_sample import UNSAMPLED

_DIGITS = 16
# they follow from the depths
_DERIVED = ('points',)

Hashes = dict[str, str]
"""Hash by output, hexadecimal."""


def hashes_of(camera: CameraDescription, picture: Callable[[str], np.ndarray]) -> Hashes:
    """Return the hashes of a camera's pictures; picture: returns an output's pixels."""
    return {
        output: hashlib.sha256(np.ascontiguousarray(picture(output)).tobytes()).hexdigest()[
            :_DIGITS
        ]
        for output in PICTURES
        if output in camera.outputs and output not in _DERIVED
    }


class SampledHashes:
    """Hashes of all cameras' new samples in a world, rendered in this process."""

    def __init__(self) -> None:
        """Take the next sample of each camera as a new one."""
        self._steps: dict[str, int] = {}

    def take(self, cameras: dict[str, CameraSensor]) -> Iterator[tuple[str, int, Hashes]]:
        """Yield name, step and hashes for each new sample; cameras: by name."""
        for name, device in cameras.items():
            step = device.sample_step
            if step not in (UNSAMPLED, self._steps.get(name, UNSAMPLED)):
                yield name, step, hashes_of(device.settings, lambda key, d=device: getattr(d, key))  # type: ignore[misc]
            self._steps[name] = step
