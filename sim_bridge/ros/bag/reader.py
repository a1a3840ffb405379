"""Reader for bags: the messages in their files, missing files, damage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sim_bridge.foundation.errors import DamagedBagError, ReplayError, shortened
from sim_bridge.foundation.html import table
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.near_files import path_meant
from sim_bridge.foundation.validation import file_path
from sim_bridge.ros.bag.mcap_reader import McapReader, Message
from sim_bridge.ros.bag.metadata import FILE_NAME, Metadata, read_metadata, TopicCount


@dataclass(frozen=True)
class Examination:
    """
    Result after reading a whole bag.

    messages: readable messages. damage: the first damage found; None for none. note:
    text about a bag without an end, for instance of a killed writer; else ''.
    """

    messages: int
    damage: DamagedBagError | None
    note: str


def examine(bag: str | Path) -> Examination:
    """Read a bag to its end with all possible checks; raises ReplayError like `Bag`."""
    read = Bag(bag)
    messages, damage = 0, None
    try:
        for _ in read.messages():
            messages += 1
    except DamagedBagError as err:
        damage = err
    return Examination(messages, damage, read.note)


def read_messages(bag: str | Path) -> Iterator[Message]:
    """Yield all messages in a bag in the order of writing. Errors: see `Bag`."""
    yield from Bag(bag).messages()


class Bag:
    """A rosbag2 bag with MCAP storage, or one .mcap file. note: see `Examination`."""

    def __init__(self, bag: str | Path) -> None:
        """Find a bag's files; raises ReplayError if there are no MCAP files."""
        bag = file_path('bag', bag)
        self.note = ''
        self._path = bag
        self._damage: DamagedBagError | None = None
        self._metadata: Metadata | None = None
        if bag.is_file():
            self._files = [bag]
            return
        if not bag.exists():
            raise ReplayError(f'bag {str(bag)!r} does not exist{path_meant(bag)}')
        if (bag / FILE_NAME).is_file():
            try:
                self._metadata = read_metadata(bag / FILE_NAME)
            except DamagedBagError as err:
                self._damage = err
        self._files = self._listed() if self._metadata else self._found()

    def __repr__(self) -> str:
        """Show the path, and how many files and topics it has."""
        topics = f', {counted(len(self.topics), "topic")}' if self.topics else ''
        return f'<Bag {str(self._path)!r}: {counted(len(self._files), "file")}{topics}>'

    def _repr_html_(self) -> str:
        """Return the topics in metadata.yaml as a table, for notebooks."""
        return table(repr(self).strip('<>'), ('topic', 'type', 'messages'), self.topics)

    @property
    def topics(self) -> Sequence[TopicCount]:
        """Topics listed in `metadata.yaml`; none without this file."""
        return () if self._metadata is None else self._metadata.topics

    @property
    def duration(self) -> float | None:
        """Time from the first message to the last [s], None if `metadata.yaml` lacks it."""
        known = self._metadata.duration_ns if self._metadata else 0
        return 1e-9 * known if known > 0 else None

    @property
    def size(self) -> int:
        """Total file size [bytes]."""
        return sum(path.stat().st_size for path in self._files)

    def messages(self) -> Iterator[Message]:
        """
        Yield all messages in the order written.

        Raises DamagedBagError after the last message before damage. If a file is truncated but has
        all messages known to `metadata.yaml`, its writer was killed: `note` then reports it, and
        also a recording without an end.
        """
        for path in self._files:
            reader = McapReader(path)
            known = self._metadata.counts.get(path.name) if self._metadata else None
            try:
                yield from reader.messages()
            except DamagedBagError as err:
                is_unfinished = known is not None and reader.count >= known
                if not (err.is_cut_off and is_unfinished and path == self._files[-1]):
                    raise
                self.note = (
                    f'{err.problem} of {path.name!r}: its writer was killed. It holds '
                    f'{counted(reader.count, "message")}; {FILE_NAME} lists {known}'
                )
            if path == self._files[-1] and reader.has_begun and not reader.has_ended:
                self.note = self.note or (
                    f'{path.name!r} has no end: its recording was killed, stopped by an error, or '
                    'is still running; the last seconds may be missing'
                )
            if known is not None and reader.count < known:
                raise DamagedBagError(
                    path,
                    path.stat().st_size,
                    f'it holds {counted(reader.count, "message")}, and {FILE_NAME} says {known}',
                    'all of its messages can be read',
                )
        if self._damage is not None:
            raise self._damage

    def _listed(self) -> list[Path]:
        """Return the files listed in metadata.yaml."""
        assert self._metadata is not None
        metadata, place = self._metadata, f'bag {str(self._path)!r}'
        if metadata.storage != 'mcap':
            raise ReplayError(
                f'{place} has storage {shortened(metadata.storage)!r}, expected mcap; `ros2 bag '
                'convert` makes one'
            )
        if metadata.compression_mode not in ('', 'none'):
            raise ReplayError(
                f'{place} is compressed by {shortened(metadata.compression_mode)!r}, expected '
                'compressed chunks or none; `ros2 bag convert` makes one'
            )
        files = [self._path / name for name in metadata.files]
        absent = [path.name for path in files if not path.is_file()]
        if absent:
            there = sorted(path.name for path in self._path.glob('*.mcap'))
            raise ReplayError(
                f'{place}: {FILE_NAME} lists {shortened(", ".join(absent))}, not found; there are '
                f'{shortened(", ".join(there)) or "no .mcap files"}'
            )
        return files

    def _found(self) -> list[Path]:
        """Return the files in a bag without a readable list."""
        # rosbag2 numbers a bag's files: bag_0.mcap, bag_1.mcap … bag_10.mcap
        files = sorted(self._path.glob('*.mcap'), key=lambda path: (len(path.name), path.name))
        if not files:
            kinds = sorted({path.suffix for path in self._path.glob('*.*')} - {'.yaml'})
            there = f', but {", ".join(kinds)}; `ros2 bag convert` makes one' if kinds else ''
            raise ReplayError(
                f'bag {str(self._path)!r}: expected a folder with .mcap files{there}'
            )
        return files
