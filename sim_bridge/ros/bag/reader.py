"""Reading bags: the messages of their files, and what is missing or damaged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sim_bridge.foundation.errors import DamagedBagError, ReplayError, shortened
from sim_bridge.foundation.html import table
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.near_files import path_meant
from sim_bridge.ros.bag.mcap_reader import McapReader, Message
from sim_bridge.ros.bag.metadata import FILE_NAME, Metadata, read_metadata, TopicCount


@dataclass(frozen=True)
class Examination:
    """
    What a bag holds.

    messages: number of those that can be read. damage: the first that was found; None for none.
    note: how a bag ends whose writer was killed, if it lost nothing that is known of; else ''.
    """

    messages: int
    damage: DamagedBagError | None
    note: str


def examine(bag: Path) -> Examination:
    """Read a bag to its end and check all that can be checked; raises ReplayError as `Bag`."""
    read = Bag(bag)
    messages, damage = 0, None
    try:
        for _ in read.messages():
            messages += 1
    except DamagedBagError as err:
        damage = err
    return Examination(messages, damage, read.note)


def read_messages(bag: Path) -> Iterator[Message]:
    """Yield all messages of a bag in the order they were written; raises as `Bag`."""
    yield from Bag(bag).messages()


class Bag:
    """A rosbag2 bag with MCAP storage, or one .mcap file; `note` as of an `Examination`."""

    def __init__(self, bag: Path) -> None:
        """Find the files of a bag; raises ReplayError if there are none of the kind."""
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
        """Show the place, and the numbers of files and topics."""
        topics = f', {counted(len(self.topics), "topic")}' if self.topics else ''
        return f'<Bag {str(self._path)!r}: {counted(len(self._files), "file")}{topics}>'

    def _repr_html_(self) -> str:
        """Return a table of what metadata.yaml says of the topics, for notebooks."""
        return table(repr(self).strip('<>'), ('topic', 'type', 'messages'), self.topics)

    @property
    def topics(self) -> Sequence[TopicCount]:
        """What `metadata.yaml` says of the topics; nothing where there is none."""
        return () if self._metadata is None else self._metadata.topics

    @property
    def duration(self) -> float | None:
        """Time from the first message to the last [s], None if `metadata.yaml` lacks it."""
        known = self._metadata.duration_ns if self._metadata else 0
        return 1e-9 * known if known > 0 else None

    @property
    def size(self) -> int:
        """Size of all files [bytes]."""
        return sum(path.stat().st_size for path in self._files)

    def messages(self) -> Iterator[Message]:
        """
        Yield all messages in the order they were written.

        Raises DamagedBagError after the last one before a damage. A file that was cut off without
        losing what `metadata.yaml` knows of is one whose writer was killed: `note` says so then.
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
                    f'{counted(reader.count, "message")}; {FILE_NAME} knows of {known}'
                )
            if known is not None and reader.count < known:
                raise DamagedBagError(
                    path,
                    path.stat().st_size,
                    f'it holds {counted(reader.count, "message")}, and {FILE_NAME} says {known}',
                    'all that it holds can be read',
                )
        if self._damage is not None:
            raise self._damage

    def _listed(self) -> list[Path]:
        """Return the files that metadata.yaml lists."""
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
        """Return the files of a bag whose list cannot be read."""
        # rosbag2 numbers the files of a bag: bag_0.mcap, bag_1.mcap … bag_10.mcap
        files = sorted(self._path.glob('*.mcap'), key=lambda path: (len(path.name), path.name))
        if not files:
            kinds = sorted({path.suffix for path in self._path.glob('*.*')} - {'.yaml'})
            there = f', but {", ".join(kinds)}; `ros2 bag convert` makes one' if kinds else ''
            raise ReplayError(
                f'bag {str(self._path)!r}: expected a folder with .mcap files{there}'
            )
        return files
