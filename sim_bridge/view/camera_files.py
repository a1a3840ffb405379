"""Camera pictures as files: films and folders of PNG files."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.foundation.errors import extra_hint, MissingPackageError


class CameraPicture(NamedTuple):
    """
    One picture.

    time: in the run [s]. pixels: as from `CameraSensor`. encoding: image format. rate: the
    camera's pictures per second [Hz].
    """

    time: float
    pixels: np.ndarray
    encoding: str
    rate: float


# beyond it, 16UC1 has no value [m] (REP 118)
_DEEPEST = 65.5355
# film pictures per second
_FASTEST = 1000.0
_CHANNELS = {'rgb8': [0, 1, 2], 'bgr8': [2, 1, 0], 'rgba8': [0, 1, 2], 'bgra8': [2, 1, 0]}


class Film:
    """H.264 film (.mp4) of images."""

    def __init__(self, file: Path) -> None:
        """Wait for the first picture."""
        self._file = file
        self._frames: Generator[None, Any, None] | None = None

    def add(self, picture: CameraPicture) -> None:
        """Append an image; raises MissingPackageError without imageio-ffmpeg, OSError."""
        image = _even(rgb_of(picture.pixels, picture.encoding))
        if self._frames is None:
            try:
                from imageio_ffmpeg import write_frames
            except ImportError as err:
                raise MissingPackageError('a film', extra_hint('film')) from err
            # imageio-ffmpeg would only report an ended process
            with self._file.open('wb'):
                pass
            self._frames = write_frames(
                str(self._file),
                image.shape[1::-1],
                fps=min(picture.rate, _FASTEST),
                codec='libx264',
                macro_block_size=2,
                quality=8,
                ffmpeg_log_level='error',
            )
            self._frames.send(None)
        self._frames.send(np.ascontiguousarray(image))

    def close(self) -> None:
        """Finish the file."""
        if self._frames is not None:
            self._frames.close()


class PictureFolder:
    """PNG files named by their times in milliseconds; depth in whole millimetres."""

    def __init__(self, folder: Path) -> None:
        """Make the folder; raises OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    def add(self, picture: CameraPicture) -> None:
        """Write a file; raises MissingPackageError without Pillow, OSError."""
        try:
            from PIL import Image
        except ImportError as err:
            raise MissingPackageError('pictures', extra_hint('film')) from err
        pixels = picture.pixels
        if pixels.dtype == np.float32:
            seen = (pixels > 0.0) & (pixels < _DEEPEST)
            pixels = np.rint(1e3 * np.where(seen, pixels, 0.0)).astype(np.uint16)
        elif pixels.ndim == 3:
            pixels = rgb_of(pixels, picture.encoding)
        Image.fromarray(pixels).save(self._folder / f'{round(1e3 * picture.time):09d}.png')

    def close(self) -> None:
        """Do nothing: each file is complete."""


def rgb_of(image: np.ndarray, encoding: str) -> np.ndarray:
    """Return an image in any encoding as (height, width, 3) uint8 red, green, blue."""
    if image.ndim == 3:
        return image[..., _CHANNELS[encoding]]
    grey = (image >> 8).astype(np.uint8) if image.dtype == np.uint16 else image
    return np.repeat(grey[..., np.newaxis], 3, axis=2)


def _even(image: np.ndarray) -> np.ndarray:
    """Return an image with even sizes, as H.264 needs; the last row and column are repeated."""
    height, width = image.shape[:2]
    return np.pad(image, ((0, height % 2), (0, width % 2), (0, 0)), mode='edge')
