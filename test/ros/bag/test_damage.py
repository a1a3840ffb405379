"""Damaged bags: one named error for any wrong byte, never the result of an intact bag."""

from __future__ import annotations

from pathlib import Path
import random
import re
import shutil
import struct

from bags import no_progress, start_recording
import pytest

from sim_bridge.cli.main import main
from sim_bridge.foundation.errors import DamagedBagError, ReplayError, SimBridgeError
from sim_bridge.ros.bag.mcap_file import CHUNK, DATA_END, MAGIC, RECORD
from sim_bridge.ros.bag.reader import examine, read_messages
from sim_bridge.ros.bag.replay import replay

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

STEPS = 40


@pytest.fixture(scope='module', params=['none', 'zstd'])
def whole(request, tmp_path_factory) -> Path:
    """Provide a small bag with several chunks and commands."""
    folder = tmp_path_factory.mktemp(request.param)
    table = folder / 'commands.csv'
    table.write_text('time,elbow\n0,1\n0.01,2\n')
    run = start_recording(
        folder / 'bag',
        commands=table,
        record_compression=request.param,
        record_split_duration=0.025,
        record_topics=['joint_states'],
    )
    run.run(1e-3 * STEPS, no_progress)
    return folder / 'bag'


def damaged(whole: Path, copy: Path, name: str, data: bytes) -> Path:
    """Return a copy of a bag with other content in one file."""
    shutil.copytree(whole, copy)
    (copy / name).write_bytes(data)
    return copy


def records(data: bytes) -> list[tuple[int, int, int]]:
    """List opcode, offset and length with head of a file's records up to the data's end."""
    found, at = [], len(MAGIC)
    while not found or found[-1][0] != DATA_END:
        opcode, length = RECORD.unpack_from(data, at)
        found.append((opcode, at, RECORD.size + length))
        at += found[-1][2]
    return found


def outcome(bag: Path) -> tuple[str, str]:
    """Return a replay's outcome, 'same', 'different' or 'error', and its message."""
    try:
        verdict = replay(bag)
    except ReplayError as err:
        return 'error', str(err)
    if verdict.damage is not None:
        return 'error', str(verdict.damage)
    return ('different' if verdict.difference else 'same'), verdict.difference


def test_a_truncated_bag_is_reported_with_the_byte(whole, tmp_path):
    """Name the byte where a file ends; read the part before; never report a missing recording."""
    total = examine(whole).messages
    made = random.Random(1)
    for name in ('bag_0.mcap', 'bag_1.mcap'):
        data = (whole / name).read_bytes()
        boundaries = [at + extra for _, at, _ in records(data) for extra in (-1, 0, 1)]
        sizes = {0, 1, 7, len(data) - 1, *boundaries, *made.sample(range(len(data)), 60)}
        for size in sizes - {len(data)}:
            bag = damaged(whole, tmp_path / 'cut', name, data[:size])
            examined = examine(bag)
            if examined.damage is None:
                # the last file without its summary has all messages known to metadata.yaml
                assert name == 'bag_1.mcap'
                assert f'truncated at byte {size}, within' in examined.note
                assert examined.messages == total
            else:
                said = str(examined.damage)
                assert repr(str(bag / name)) in said
                assert f'truncated at byte {size}, within' in said
                assert re.search(r'the \d+ messages? before it can be read', said)
                assert examined.messages <= total
            shutil.rmtree(bag)


def test_any_changed_byte_is_reported(whole, tmp_path):
    """Find every flipped byte in a file, with file and offset; read the part before it."""
    made = random.Random(2)
    data = (whole / 'bag_0.mcap').read_bytes()
    heads = [at + offset for _, at, _ in records(data) for offset in range(RECORD.size)]
    places = {*made.sample(range(len(data)), 300), *heads, *range(len(data) - 40, len(data))}
    total = examine(whole).messages
    bag = damaged(whole, tmp_path / 'flipped', 'bag_0.mcap', data)
    for place in places:
        changed = bytearray(data)
        changed[place] ^= 1 << made.randrange(8)
        (bag / 'bag_0.mcap').write_bytes(changed)
        found: list[object] = []
        with pytest.raises(ReplayError, match=re.escape(repr(str(bag / 'bag_0.mcap')))) as said:
            found.extend(read_messages(bag))
        assert re.search(r'at byte \d+|bytes 0 to \d+', str(said.value)), said.value
        assert len(found) <= total


@pytest.mark.parametrize('share', [0.0, 0.3, 0.7])
def test_a_replay_of_a_damaged_chunk_is_no_same(whole, tmp_path, share, capsys):
    """Compare the part before the damage; end with 2 and name the chunk."""
    data = (whole / 'bag_1.mcap').read_bytes()
    (at, size), *_ = [(at, size) for opcode, at, size in records(data) if opcode == CHUNK]
    changed = bytearray(data)
    changed[at + 60 + int(share * (size - 61))] ^= 4
    bag = damaged(whole, tmp_path / 'bag', 'bag_1.mcap', bytes(changed))
    assert main(['replay', str(bag)]) == 2
    told = capsys.readouterr()
    assert 'the same' not in told.out
    assert 'different' not in told.out
    # the first file has 25 steps
    assert '25 control steps' in told.out
    assert f'{str(bag / "bag_1.mcap")!r}: the chunk at byte {at} ' in told.err
    assert (
        main(
            [
                'record',
                'double_pendulum',
                '-o',
                str(tmp_path / 'new'),
                '--duration',
                '0.01',
                '--commands',
                str(bag),
            ]
        )
        == 2
    )
    assert f'the chunk at byte {at} ' in capsys.readouterr().err
    assert not (tmp_path / 'new').exists()


def test_replays_of_random_damage_end_with_an_error_of_ours(whole, tmp_path):
    """Never accept a damaged bag or raise a Python error, with CRCs or without."""
    made = random.Random(3)
    data = bytearray((whole / 'bag_0.mcap').read_bytes())
    without = data.copy()
    # rosbag2's default: a CRC of 0 means none
    for opcode, at, _ in records(data):
        if opcode == CHUNK:
            struct.pack_into('<I', without, at + RECORD.size + 24, 0)
        if opcode == DATA_END:
            struct.pack_into('<I', without, at + RECORD.size, 0)
    bag = damaged(whole, tmp_path / 'bag', 'bag_0.mcap', bytes(without))
    assert outcome(bag) == ('same', '')
    for source, count in ((data, 6), (without, 40)):
        for _ in range(count):
            changed = source.copy()
            place = made.randrange(len(changed))
            changed[place] = made.randrange(256)
            if changed == source:
                continue
            (bag / 'bag_0.mcap').write_bytes(changed)
            try:
                kind, said = outcome(bag)
            except SimBridgeError as err:
                kind, said = 'error', str(err)
            # without CRCs, a flipped byte may have no effect
            assert kind != 'same' or source is without, (place, said)


def test_damaged_metadata_is_named(whole, tmp_path):
    """Name byte and file for invalid metadata; read the files beside it."""
    text = (whole / 'metadata.yaml').read_bytes()
    total = examine(whole).messages
    made = random.Random(4)
    bag = damaged(whole, tmp_path / 'bag', 'metadata.yaml', text)
    for _ in range(300):
        changed = bytearray(text)
        place = made.randrange(len(text))
        if made.random() < 0.3:
            del changed[place:]
        else:
            changed[place] = made.randrange(256)
        (bag / 'metadata.yaml').write_bytes(changed)
        try:
            examined = examine(bag)
        except ReplayError as err:
            assert str(bag) in str(err)  # noqa: PT017 - only some of them raise
            continue
        if examined.damage is not None:
            assert examined.damage.file.startswith(str(bag))
        assert examined.messages == total
    (bag / 'metadata.yaml').write_bytes(text.replace(b'version', b'v\xffrsion', 1))
    place = text.index(b'version') + 1
    expected = rf'metadata.yaml.*damaged at byte {place}: '
    with pytest.raises(DamagedBagError, match=expected) as said:
        list(read_messages(bag))
    assert said.value.offset == place
    (bag / 'metadata.yaml').write_bytes(text.replace(b'message_count: ', b'message_count: 9'))
    with pytest.raises(DamagedBagError, match=r'holds \d+ messages, and metadata.yaml says 9'):
        list(read_messages(bag))
    (bag / 'metadata.yaml').write_bytes(text.replace(b'bag_1.mcap', b'bag_7.mcap'))
    with pytest.raises(ReplayError, match=r'lists bag_7\.mcap, not found; there are bag_0'):
        list(read_messages(bag))


def test_the_bag_of_a_killed_writer_replays_to_its_end(whole, tmp_path, capsys):
    """Accept a last file without a summary, report it, and end with 0."""
    data = (whole / 'bag_1.mcap').read_bytes()
    end = records(data)[-1][1]
    bag = damaged(whole, tmp_path / 'bag', 'bag_1.mcap', data[:end])
    assert main(['replay', str(bag)]) == 0
    told = capsys.readouterr().out
    assert f'truncated at byte {end}' in told
    assert 'its writer was killed' in told
    assert told.endswith('the same\n')
