"""`sim_bridge render`: pictures from recorded runs, beside those in the run."""

from __future__ import annotations

from pathlib import Path

from bags import start_recording
import imageio_ffmpeg
import numpy as np
from PIL import Image
import pytest
import yaml

from sim_bridge.cli.main import main
from sim_bridge.description.report import DescriptionError
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.ros.bag.rendering import render

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

STEPS = 200
_KEYS = {'type': 'camera', 'size': [35, 25], 'update_rate': 50}
CAMERAS = {
    'eye': {**_KEYS, 'link': 'world', 'position': [0, -2.5, 0], 'look_at': [0, 1, 0]},
    'rider': {**_KEYS, 'link': 'lower_rod', 'position': [0, -0.4, 0], 'look_at': [0, 0, 0.5]},
}


@pytest.fixture(scope='module')
def swing(tmp_path_factory) -> tuple[Path, dict[str, list[tuple[float, np.ndarray]]]]:
    """Provide a bag with a pendulum seen by two cameras, and the run's images with times."""
    bag = tmp_path_factory.mktemp('swing') / 'bag'
    run = start_recording(
        bag, hold_until_first_command=False, initial_positions=[0.5, -0.3], sensors=CAMERAS
    )
    world = run.simulator.world
    seen = {name: [] for name in CAMERAS}
    for _ in range(STEPS):
        run.simulator.tick()
        for name, found in seen.items():
            device = world.robots['double_pendulum'].device(name)
            if device.sample_step == world.step_count:
                found.append((world.time, device.image))
    run.recording.close()
    return bag, seen


def pictures(bag, camera, output='image'):
    """Return all pictures of a camera."""
    found = []
    verdict = render(bag, str(camera), output, found.append)
    assert verdict.is_same
    return found


@pytest.mark.parametrize('name', CAMERAS)
def test_recorded_cameras_have_the_bits_of_the_run(swing, name):
    """Render each sample at its time; both names find the camera."""
    bag, seen = swing[0], swing[1][name]
    assert len(seen) == 10 and not np.array_equal(seen[0][1], seen[-1][1])
    for own in (name, f'double_pendulum/{name}'):
        found = pictures(bag, own)
        assert [each.time for each in found] == pytest.approx([time for time, _ in seen])
        for each, (_, image) in zip(found, seen, strict=True):
            assert np.array_equal(each.pixels, image) and each.rate == 50.0


@pytest.mark.parametrize('name', CAMERAS)
def test_added_cameras_see_the_same(swing, name, tmp_path):
    """Equal the recorded camera's pictures by a file with its place."""
    bag, seen = swing[0], swing[1][name]
    file = tmp_path / 'camera.yaml'
    file.write_text(yaml.safe_dump({'twin': CAMERAS[name]}))
    found = {round(each.time, 6): each.pixels for each in pictures(bag, file)}
    assert len(found) == 11
    for time, image in seen:
        assert np.array_equal(found[round(time, 6)], image)


@pytest.mark.parametrize(
    ('text', 'error', 'words'),
    [
        ('a: {type: imu, link: x}', InvalidValueError, r'a \(imu\).*expected one camera'),
        ('a: {type: camera, size: [0, 1]}', DescriptionError, 'size'),
        ('[1, 2]', DescriptionError, 'mapping'),
        ('a: {type: camera, link: nowhere}', UnknownNameError, "link 'nowhere'"),
        ('a: {type: camera, link: x, outputs: [depth]}', UnknownNameError, "output 'image'"),
    ],
)
def test_wrong_cameras_are_named(swing, tmp_path, text, error, words):
    """Name the value and the file's defect; an unknown name lists the known cameras."""
    bag, _ = swing
    file = tmp_path / 'camera.yaml'
    file.write_text(text)
    with pytest.raises(error, match=words):
        pictures(bag, file)
    with pytest.raises(UnknownNameError, match='double_pendulum/eye'):
        pictures(bag, 'ear')


# the library leaves the pipes of an ended process to the garbage collector
@pytest.mark.filterwarnings('ignore::pytest.PytestUnraisableExceptionWarning')
@pytest.mark.filterwarnings('ignore:unclosed file:ResourceWarning')
def test_films_and_folders(swing, tmp_path, capsys):
    """Write each picture into a film with even sizes, and depth as PNG files in millimetres."""
    bag, seen = swing[0], swing[1]['eye']
    film, folder = tmp_path / 'x.mp4', tmp_path / 'depth'
    assert main(['render', str(bag), '--camera', 'eye', '-o', str(film)]) == 0
    frames = imageio_ffmpeg.read_frames(str(film))
    facts = next(frames)
    assert facts['size'] == (36, 26) and facts['fps'] == 50.0
    shown = [np.frombuffer(each, np.uint8).reshape(26, 36, 3)[:25, :35] for each in frames]
    assert len(shown) == len(seen)
    for own, (_, image) in zip(shown, seen, strict=True):
        assert np.abs(own.astype(int) - image).mean() < 8.0
    arguments = ['--camera', 'eye', '--picture', 'depth', '-o']
    assert main(['render', str(bag), *arguments, str(folder)]) == 0
    depths = pictures(bag, 'eye', 'depth')
    files = sorted(folder.iterdir())
    assert [round(1e3 * each.time) for each in depths] == [int(file.stem) for file in files]
    for file, each in zip(files, depths, strict=True):
        with Image.open(file) as image:
            expected = np.where(np.isfinite(each.pixels), 1e3 * each.pixels, 0.0)
            assert np.abs(np.asarray(image) - expected).max() <= 0.5
    assert '10 pictures' in capsys.readouterr().out
    assert main(['render', str(bag), *arguments, str(film)]) == 2
    assert 'films have images only' in capsys.readouterr().err
