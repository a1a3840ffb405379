"""Height fields from images: brightness, directions and bad files."""

from __future__ import annotations

import numpy as np
from PIL import Image
import pytest

import sim_bridge as sb
from sim_bridge.description.report import SceneError
from sim_bridge.description.scene.load import read_scene
from sim_bridge.foundation.errors import InvalidValueError

PIXELS = np.random.default_rng(1).integers(0, 256, (5, 7))
SIZE = 3.0, 2.0, 0.5


@pytest.mark.parametrize(
    ('name', 'scale', 'kind'),
    [
        ('hills.png', 1, np.uint8),
        ('hills.PNG', 257, np.uint16),
        ('hills.tif', 257, np.uint16),
        ('hills.pgm', 257, np.uint16),
        ('hills.bmp', 1, np.uint8),
    ],
)
def test_white_is_high_and_the_top_is_far(tmp_path, name, scale, kind):
    """Give black height 0, white the full height, and the upper rows the greatest y."""
    path = tmp_path / name
    Image.fromarray((scale * PIXELS).astype(kind)).save(path)
    field = sb.HeightField.from_image(path, SIZE, bottom=-1.0)
    np.testing.assert_allclose(field.heights, 0.5 * PIXELS[::-1] / 255, atol=1e-12)
    assert (field.size, field.bottom) == ((3.0, 2.0), -1.0)


def test_colours_count_by_their_brightness(tmp_path):
    """Read grey in three channels as grey, and ignore opacity."""
    path = tmp_path / 'hills.png'
    Image.fromarray(np.dstack([*3 * [PIXELS], 255 - PIXELS]).astype(np.uint8)).save(path)
    np.testing.assert_allclose(
        sb.HeightField.from_image(str(path), SIZE).heights, 0.5 * PIXELS[::-1] / 255
    )


def test_invalid_images_are_named(tmp_path):
    """Name the file and the reason."""
    good = tmp_path / 'good.png'
    Image.fromarray(PIXELS.astype(np.uint8)).save(good)
    (tmp_path / 'cut.png').write_bytes(good.read_bytes()[:60])
    (tmp_path / 'text.png').write_text('no picture')
    Image.fromarray(PIXELS.astype(np.float32)).save(tmp_path / 'float.tif')
    Image.fromarray(PIXELS[:1].astype(np.uint8)).save(tmp_path / 'line.png')
    Image.new('L', (12_000, 12_000)).save(tmp_path / 'bomb.png')
    for name, message in (
        ('missing.png', 'No such file'),
        ('cut.png', 'valid image'),
        ('text.png', 'cannot identify'),
        ('float.tif', '32 bits'),
        ('bomb.png', 'DecompressionBomb'),
    ):
        with pytest.raises(InvalidValueError, match=message) as caught:
            sb.HeightField.from_image(tmp_path / name, SIZE)
        assert name in str(caught.value)
    with pytest.raises(InvalidValueError, match='2, 2'):
        sb.HeightField.from_image(tmp_path / 'line.png', SIZE)
    for size in ((1.0, 1.0), (1.0, 1.0, 0.0), None):
        with pytest.raises(InvalidValueError, match='size'):
            sb.HeightField.from_image(good, size)
    with pytest.raises(InvalidValueError, match='path'):
        sb.HeightField.from_image(3, SIZE)


def test_scenes_take_pictures(tmp_path):
    """Read the key image, and name the keys it needs."""
    Image.fromarray(PIXELS.astype(np.uint8)).save(tmp_path / 'hills.png')
    scene = tmp_path / 'scene.yaml'

    def load(keys):
        scene.write_text(
            f'world: {{objects: {{g: {{motion: static, height_field: {{{keys}}}}}}}}}'
        )
        return read_scene(scene)

    field = load('image: hills.png, size: [3, 2, 0.5]').bodies[0].shapes[0].shape
    np.testing.assert_allclose(field.heights, 0.5 * PIXELS[::-1] / 255)
    for keys, message in (
        ('image: hills.png, size: [3, 2]', '3'),
        ('image: none.png, size: [3, 2, 1]', 'none.png'),
        ('image: hills.png, file: a.npy, size: [3, 2, 1]', 'one of heights'),
    ):
        with pytest.raises(SceneError, match=message):
            load(keys)
