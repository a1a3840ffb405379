"""Height images, read by `foreign.image_reader` in its own process."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sim_bridge.foreign.files import DATA_BYTES, read_file
from sim_bridge.foreign.reader_process import Limits, read_apart, ReadingError
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError

LIMITS = Limits(seconds=10.0, memory_bytes=2 << 30, answer_bytes=1 << 28)

_READER = 'sim_bridge.foreign.image_reader'


def load_brightness(path: str | Path) -> FloatArray:
    """
    Return an image's pixel brightness, 0 to 1, (rows, columns), lowest row first.

    PNG, TIFF, BMP, JPEG or PPM with 8 or 16 bits; colour images give their luminance. Raises
    InvalidValueError, naming the file, if it is missing or cannot be read.
    """
    if not isinstance(path, (str, Path)):
        raise InvalidValueError('image', path, 'a path')
    try:
        data = read_file(path, DATA_BYTES)
    except OSError as err:
        reason = f' ({err.strerror})' if err.strerror else ''
        raise InvalidValueError('image', str(path), f'a file that can be read{reason}') from err
    try:
        fields, answer = read_apart(_READER, LIMITS, {}, data)
        numbers = [fields.get(name) for name in ('rows', 'columns', 'white')]
        rows, columns, white = (each if type(each) is int else 0 for each in numbers)
        if min(rows, columns, white) < 1 or len(answer) != 4 * rows * columns:
            raise ReadingError('its reader returned no pixels')
    except ReadingError as err:
        raise InvalidValueError('image', str(path), f'a valid image ({err})') from err
    pixels = np.frombuffer(answer, np.int32).reshape(rows, columns)
    return np.asarray(pixels[::-1] / white, np.float64)
