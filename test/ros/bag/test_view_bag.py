"""Bag viewing: the page with their time, a page to share, pictures and films."""

from __future__ import annotations

from pathlib import Path
import threading

from bags import no_progress, start_recording
import imageio_ffmpeg
import numpy as np
from PIL import Image
import pytest
from rclpy.serialization import serialize_message
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from sensor_msgs.msg import JointState
from support.page_client import PageClient, recording

import sim_bridge as sb
from sim_bridge.cli.main import main
from sim_bridge.foundation.errors import ReplayError
from sim_bridge.page.tape import Tape, together
from sim_bridge.ros.bag.taped import tape_of
from sim_bridge.view import film
from sim_bridge.view.player import Player

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

START, STEPS, FPS = (0.5, -0.3), 200, 50.0


def places(world: sb.World) -> list[np.ndarray]:
    """Return the pendulum's link positions."""
    return [link.p.copy() for link in world.robots['double_pendulum'].links]


@pytest.fixture(scope='module')
def swing(tmp_path_factory) -> tuple[Path, list[list[np.ndarray]]]:
    """Provide a bag with a pendulum that swings and is reset, and its link positions."""
    bag = tmp_path_factory.mktemp('swing') / 'swing'
    run = start_recording(bag, hold_until_first_command=False, initial_positions=list(START))
    (interface,) = run.simulator.interfaces
    been = [places(run.simulator.world)]
    for step in range(STEPS - 1):
        if step == 100:
            interface.command_topics[0].take(
                serialize_message(JointState(name=['nobody'], effort=[1.0]))
            )
        if step == 150:
            # the reset has its own time in the bag
            run.simulator.reset(clock=False)
            been.append(places(run.simulator.world))
        run.simulator.tick()
        been.append(places(run.simulator.world))
    run.recording.close()
    return bag, been


@pytest.fixture(scope='module')
def tape(swing) -> Tape:
    """Provide the bag's tape."""
    found, warnings = tape_of(swing[0], FPS, no_progress)
    assert not warnings
    return found


def test_a_tape_has_the_states_of_the_run(swing, tape):
    """Replay a bag: every frame has the recorded link positions, to the bit."""
    (take,) = tape.takes
    assert len(take.moments) == STEPS * 1e-3 * FPS + 1
    for moment in take.moments:
        np.testing.assert_array_equal(
            moment.poses[:, 9:], swing[1][round(moment.time * 1e3)], str(moment.time)
        )
    assert [mark.kind for mark in tape.marks] == ['command refused', 'reset']
    assert tape.marks[1].time == pytest.approx(0.15, abs=1e-6)


def placed_by(bag: Path, folder: Path) -> Path:
    """Return a bag as from other tools: with joint_states and the description alone."""
    with (
        Reader(bag) as reader,
        Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP) as writer,
    ):
        kept = [
            each
            for each in reader.connections
            if each.topic in ('/joint_states', '/robot_description')
        ]
        made = {
            each.id: writer.add_connection(
                each.topic, each.msgtype, msgdef=each.msgdef.data, rihs01=each.digest
            )
            for each in kept
        }
        for connection, time_ns, data in reader.messages(kept):
            writer.write(made[connection.id], time_ns + 10**18, data)
    return folder


def test_bags_of_others_are_shown_by_joint_states(swing, tmp_path):
    """Show the same motion without the data needed for a replay."""
    tape, _ = tape_of(placed_by(swing[0], tmp_path / 'other'), FPS, no_progress)
    (take,) = tape.takes
    assert [link.name for link in take.structure.links] == ['world', 'upper_rod', 'lower_rod']
    # at the reset, another state has the same time
    for moment in take.moments[:7]:
        np.testing.assert_allclose(
            moment.poses[:, 9:], swing[1][round(moment.time * 1e3)], atol=1e-12
        )


def test_bags_without_a_robot_are_refused(swing, tmp_path):
    """Refuse a bag without a robot."""
    with (
        Reader(swing[0]) as reader,
        Writer(tmp_path / 'clock', version=9, storage_plugin=StoragePlugin.MCAP) as writer,
    ):
        (clock,) = (each for each in reader.connections if each.topic == '/clock')
        made = writer.add_connection(
            clock.topic, clock.msgtype, msgdef=clock.msgdef.data, rihs01=clock.digest
        )
        for _, time_ns, data in reader.messages([clock]):
            writer.write(made, time_ns, data)
    with pytest.raises(ReplayError, match='robot_description'):
        tape_of(tmp_path / 'clock', FPS, no_progress)


def test_one_page_plays_a_bag_without_anything_else(swing, tape, capsys):
    """Decode the page's data: times, positions of parts, and marks."""
    bag, been = swing
    page = bag.parent / 'swing.html'
    assert main(['view', str(bag), '--html', str(page), '--fps', f'{FPS:g}']) == 0
    assert 'swing.html: 0.2 s' in capsys.readouterr().out
    text = page.read_text(encoding='utf-8')
    assert '<script src=' not in text and 'rel="stylesheet"' not in text
    assert '<title>swing</title>' in text
    duration, messages = recording(text)
    assert duration == pytest.approx(0.2)
    take = tape.takes[0]
    moved: dict[str, list] = {}
    for time, message in messages:
        if 'batched_positions' in message.get('updates', {}):
            moved.setdefault(message['name'], []).append(
                (time, message['updates']['batched_positions'].reshape(-1, 3))
            )
    assert moved
    drawn = [part for part in take.structure.parts if part.role != 'collision']
    for role, mesh in {(part.role, part.mesh) for part in drawn}:
        parts = [part for part in drawn if (part.role, part.mesh) == (role, mesh)]
        (name,) = {each for each in moved if f'/{role}/{mesh}_' in each}
        for time, positions in moved[name]:
            poses = take.moments[tape.at(time + 1e-6)[1]].poses
            expected = [
                poses[part.link, :9].reshape(3, 3) @ part.position + poses[part.link, 9:]
                for part in parts
            ]
            np.testing.assert_allclose(positions, expected, atol=1e-6)
    said = [
        message['updates']['text']
        for _, message in messages
        if 'text' in message.get('updates', {})
    ]
    assert any('reset' in each for each in said)


def test_the_page_plays_pauses_and_seeks(tape):
    """Use every widget on a bag's page."""
    with Player(tape, paused=True) as player, PageClient(player.url) as client:
        thread = threading.Thread(target=player.run)
        thread.start()

        def shows(time: float) -> None:
            client.wait(f'{time} s', lambda: f'### {time:.3f} s' in client.texts)

        client.wait('the bar', lambda: client.widgets['Time [s]']['max'] == pytest.approx(0.2))
        assert len(client.wait_for('Go to')['options']) == 3
        client.set('Time [s]', 0.13)
        shows(0.13)
        client.press('Next mark')
        shows(tape.marks[1].time)
        client.wait('its text', lambda: any('reset' in text for text in client.texts))
        client.press('Mark before')
        shows(tape.marks[0].time)
        client.set('Go to', client.widgets['Go to']['options'][2])
        shows(tape.marks[1].time)
        client.click('Reset')
        shows(0.0)
        client.click('Step')
        shows(0.02)
        client.click('Pause')
        shows(tape.end)
        client.wait('the end', lambda: client.widgets['Pause']['label'] == 'Play')
        client.set('Speed', -1.0)
        client.wait(
            'an error', lambda: any('a number from 0 to 1000' in text for text in client.texts)
        )
    thread.join()


def test_two_runs_are_ghosts_or_beside_each_other(tape):
    """Show a run beside itself, and inside itself."""
    take = tape.takes[0]
    count, parts = len(take.structure.links), len(take.structure.parts)
    # parts hanging on the ceiling
    fixed = sum(part.link == 0 for part in take.structure.parts)
    (both,) = together([tape, tape.cut(0.1, 1.0)], 2.0).takes
    assert len(both.structure.parts) == 2 * parts
    for at, later in ((0, 5), (3, 8), (10, 10)):
        poses = both.moments[at].poses
        np.testing.assert_array_equal(poses[:count], take.moments[at].poses)
        np.testing.assert_allclose(
            poses[count:, 9:], take.moments[later].poses[:, 9:] + (0.0, 2.0, 0.0)
        )
    (ghosts,) = together([tape, tape]).takes
    assert len(ghosts.structure.parts) == 2 * parts - fixed
    assert ghosts.structure.parts[-1].color[3] < ghosts.structure.parts[0].color[3]
    joints = ghosts.structure.joints
    np.testing.assert_array_equal(
        [ghosts.moments[4].q[joint.row] for joint in joints], [*take.moments[4].q] * 2
    )


# the library leaves the pipes of an ended process to the garbage collector
@pytest.mark.filterwarnings('ignore::pytest.PytestUnraisableExceptionWarning')
@pytest.mark.filterwarnings('ignore:unclosed file:ResourceWarning')
def test_films_have_a_picture_for_each_frame(tape, tmp_path, monkeypatch):
    """Write a film of pictures with time as brightness; read it with ffmpeg."""

    class Stage:
        def __init__(self, time: float) -> None:
            self.time = time

        def pixels(self) -> np.ndarray:
            return np.full((64, 96, 3), round(1000 * self.time), np.uint8)

    monkeypatch.setattr(film.Camera, 'at', lambda self, time: Stage(time))
    film.write_film(tape, 25.0, 0.5, (96, 64), tmp_path / 'x.mp4')
    reader = imageio_ffmpeg.read_frames(str(tmp_path / 'x.mp4'))
    assert next(reader)['size'] == (96, 64)
    shades = [np.frombuffer(frame, np.uint8).mean() for frame in reader]
    np.testing.assert_allclose(shades, np.arange(0, 201, 20), atol=4.0)


def centre_of_colour(pixels: np.ndarray) -> np.ndarray:
    """Return the mean position (x, y) of coloured pixels: not white, grey or black [pixels]."""
    channels = pixels[..., :3].astype(int)
    rows, columns = np.nonzero(np.ptp(channels, axis=2) > 40)
    assert len(rows) > 50
    return np.array([columns.mean(), rows.mean()])


def seen_at(camera: film.Camera, points: np.ndarray, pixels: tuple[int, int]) -> np.ndarray:
    """Return the picture positions (n, 2) [pixels] of points (n, 3) by a camera's definition."""
    eye, target, _ = camera._view
    forward = (target - eye) / np.linalg.norm(target - eye)
    aside = np.cross(forward, (0.0, 0.0, 1.0))
    aside /= np.linalg.norm(aside)
    depth, x, y = np.array([forward, aside, np.cross(aside, forward)]) @ (points - eye).T
    scale = 0.5 * pixels[1] / np.tan(np.radians(15.0))
    return np.stack([0.5 * pixels[0] + scale * x / depth, 0.5 * pixels[1] - scale * y / depth], 1)


# as above
@pytest.mark.long
@pytest.mark.filterwarnings('ignore::pytest.PytestUnraisableExceptionWarning')
@pytest.mark.filterwarnings('ignore:unclosed file:ResourceWarning')
def test_pictures_and_films_show_the_run(swing, tape, tmp_path, capsys):
    """Draw without a display: the rods in their places, in a picture and each frame of a film."""
    bag, size = swing[0], (320, 240)
    camera = film.Camera(tape, size)
    (take,) = tape.takes
    # other parts are grey
    moving = [part for part, own in film.drawn(take) if part.link and np.ptp(own.color[:3]) > 0.2]

    def expected(time: float) -> np.ndarray:
        moment = take.moments[tape.at(time)[1]]
        middles = np.array([position for _, position in film.places(moving, moment)])
        return seen_at(camera, middles, size).mean(axis=0)

    options = ['--fps', f'{FPS:g}', '--size', '320x240']
    drawn = {}
    for time in (0.0, 0.14):
        file = tmp_path / f'{time}.png'
        assert main(['view', str(bag), '--output', str(file), '--at', str(time), *options]) == 0
        with Image.open(file) as picture:
            assert picture.size == size
            drawn[time] = np.asarray(picture.convert('RGB'))
        assert centre_of_colour(drawn[time]) == pytest.approx(expected(time), abs=20.0)
    moved = centre_of_colour(drawn[0.14]) - centre_of_colour(drawn[0.0])
    assert moved == pytest.approx(expected(0.14) - expected(0.0), abs=3.0)
    assert np.linalg.norm(moved) > 5.0
    assert main(['view', str(bag), '--output', str(tmp_path / 'x.mp4'), *options]) == 0
    assert 'x.mp4' in capsys.readouterr().out
    reader = imageio_ffmpeg.read_frames(str(tmp_path / 'x.mp4'))
    head = next(reader)
    assert head['size'] == size and head['fps'] == FPS
    frames = [np.frombuffer(frame, np.uint8).reshape(240, 320, 3) for frame in reader]
    assert len(frames) == len(take.moments)
    for time, picture in drawn.items():
        frame = frames[round(time * FPS)]
        assert np.abs(frame.astype(int) - picture).mean() < 3.0


def test_surfaces_are_drawn_where_they_are(tape):
    """Put each surface's corners at its geometry."""
    (take,) = tape.takes
    moment = take.moments[5]
    surfaces = film.drawn(take)
    records = [record for record, _ in surfaces]
    assert [record for record in take.structure.parts if record.role != 'collision'] == records
    for (record, part), (rotation, position) in zip(
        surfaces, film.places(records, moment), strict=True
    ):
        link = moment.poses[record.link]
        R, p = link[:9].reshape(3, 3), link[9:]
        mesh = take.structure.meshes[record.mesh]
        own = (mesh.vertices * record.scale) @ record.rotation.T + record.position
        np.testing.assert_allclose(part.vertices @ rotation.T + position, own @ R.T + p, atol=1e-9)


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['--html', 'x.png'], '.html'),
        (['--output', 'x.gif'], '.png or .mp4'),
        (['--fps', '0'], 'above 0'),
        (['--size', '5x5'], 'two even numbers'),
        (['--with', 'nowhere'], 'nowhere'),
        (['--from', '9', '--html', 'x.html'], 'nothing from 9'),
        (['--html', '/nowhere/x.html'], 'can be written'),
    ],
)
def test_wrong_arguments_of_view(swing, capsys, arguments, words):
    """Name the error in the command line."""
    assert main(['view', str(swing[0]), *arguments]) == 2
    assert words in capsys.readouterr().err
