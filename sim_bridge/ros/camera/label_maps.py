"""Maps of labels and instances in messages: a row for each visual, looked up by pixel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim_bridge.description.cameras import CameraDescription, COLORED
from sim_bridge.ros.wire.image_messages import image_encoding
from sim_bridge.sight.scenery import Scenery

_NARROW = 255
_BITS = 8


class LabelMaps:
    """
    Label images of one camera.

    is_wide: whether there are labels above 255.
    """

    def __init__(self, scenery: Scenery, camera: CameraDescription) -> None:
        """Take the labels of a scenery."""
        self._camera = camera
        self._label = np.append(scenery.label, 0)
        self._instance = np.append(scenery.instance, 0)
        self.is_wide = bool(self._label.max() > _NARROW)
        self._rows: dict[str, np.ndarray] = {}

    def fill(self, key: str, visual: np.ndarray, out: np.ndarray) -> None:
        """Write an image; key: of its topic. visual: (height, width), from `Renderer.visual`."""
        if key not in self._rows:
            self._rows[key] = self._row(key).astype(out.dtype)
        # -1, for no visual, is the last row
        np.take(self._rows[key], visual, axis=0, out=out, mode='wrap')

    def _row(self, key: str) -> np.ndarray:
        """Return an image's values by visual: (n,) or (n, 3)."""
        label, instance = self._label, self._instance
        if key == 'instances':
            return instance
        has_instances = 'instances' in self._camera.outputs
        of_labelled = np.where(label > 0, instance, 0)
        if key == COLORED:
            return distinct_colors(of_labelled if has_instances else label)
        if image_encoding(self._camera, key) != 'rgb8':
            return label
        if has_instances:
            # gz-rendering: the instance's low and high byte, then the label
            return np.stack([of_labelled % 256, of_labelled // 256, label % 256], 1)
        return np.stack([label % 256] * 3, 1)


def distinct_colors(numbers: np.ndarray) -> np.ndarray:
    """
    Return (n, 3) a colour for each number, black for 0; equal numbers alone have equal colours.

    PASCAL VOC's colours: the bits of a number, in turns, are the high bits of red, green and blue.
    """
    found = np.zeros((len(numbers), 3), np.int64)
    for bit in range(_BITS):
        for channel in range(3):
            found[:, channel] |= ((numbers >> (3 * bit + channel)) & 1) << (_BITS - 1 - bit)
    return found


def names_by_label(scenery: Scenery, names: Sequence[str]) -> dict[int, str]:
    """Return the objects with each label from 1 on; names: by instance, from 1."""
    found: dict[int, list[str]] = {}
    for label, instance in sorted(
        set(zip(scenery.label.tolist(), scenery.instance.tolist(), strict=True))
    ):
        if label and 0 < instance <= len(names):
            found.setdefault(label, []).append(names[instance - 1])
    return {label: ', '.join(each) for label, each in found.items()}
