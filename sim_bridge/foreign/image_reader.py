"""Reader for a picture's brightness in the confined process, by Pillow."""

from __future__ import annotations

import io
from typing import Any
import warnings

import numpy as np
from PIL import Image, TiffImagePlugin  # noqa: F401  to be there when it is confined

MAY_READ = False

_FORMATS = ('PNG', 'TIFF', 'BMP', 'JPEG', 'PPM')
# 16-bit modes; 'I' may also be 32-bit, and counts only in formats that Pillow reads as 16-bit
_WIDE = ('I;16', 'I;16B', 'I;16L', 'I;16N', 'I')
_WIDEST = (1 << 16) - 1

# import the format modules
Image.preinit()
Image.MAX_IMAGE_PIXELS = 1 << 26
# reject larger pictures instead of warning
warnings.simplefilter('error', Image.DecompressionBombWarning)


def read(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """
    Return 'rows', 'columns', and 'white', the greatest possible brightness.

    The data are the brightness of all pixels, row by row from the top, as 4-byte integers.
    """
    with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
        if image.mode in _WIDE and (image.mode != 'I' or image.format in ('PNG', 'PPM')):
            pixels, white = np.asarray(image), _WIDEST
        elif image.mode in ('I', 'F'):
            raise ValueError(f'its pixels have 32 bits (mode {image.mode}), and 8 or 16 are read')
        else:
            pixels, white = np.asarray(image.convert('L')), 255
    rows, columns = pixels.shape
    return {'rows': rows, 'columns': columns, 'white': white}, pixels.astype('=i4').tobytes()
