"""Bag files during recording: one after another, with their metadata."""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
from dataclasses import dataclass
import itertools
import math
from pathlib import Path

import numpy as np

from sim_bridge.foundation.version import __version__
from sim_bridge.ros.bag import metadata
from sim_bridge.ros.bag.compression import NONE
from sim_bridge.ros.bag.mcap_file import BEGUN, check_size, ENDED, log_times, McapFile, RECORDING
from sim_bridge.ros.bag.metadata import StoredFile, Topic

# Smallest chunk at the end of a file: smaller chunks cost more than slightly too large files.
_LEAST_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class Layout:
    """
    Storage settings for a bag.

    compression: of chunks, see `codec`. split_bytes: file size [bytes] for starting the next file;
    inf for one file. split_ns: time between first and last message [ns] for starting the next one.
    """

    compression: str = NONE
    split_bytes: float = math.inf
    split_ns: float = math.inf


class BagFiles:
    """
    Files NAME_0.mcap, NAME_1.mcap … and `metadata.yaml` in the folder NAME.

    Each file has all topics and its own summary, and is complete after each chunk, like rosbag2's
    files. A file ends with the chunk that reaches a limit.
    """

    def __init__(self, folder: Path, layout: Layout) -> None:
        """Create the first file in a folder; raises OSError."""
        self._folder, self._layout = folder, layout
        self._topics: list[tuple[Topic, str]] = []
        self._ended: list[McapFile] = []
        self._file = self._open(0)

    @property
    def summary_size(self) -> int:
        """Bytes written in addition to each chunk."""
        return self._file.summary_size

    @property
    def size(self) -> int:
        """Total file size without summaries [bytes]."""
        return sum(each.size for each in (*self._ended, self._file))

    def add_topic(self, topic: Topic, definition: str) -> None:
        """Add a topic; its channel is the resulting topic count."""
        self._topics.append((topic, definition))
        _add_channel(self._file, topic, definition)

    def add(self, records: Sequence[bytes]) -> int:
        """
        Write messages, at least one, until the file is full; return their number.

        The rest belongs to the next file, started by the next call. After an OSError nothing is
        written.
        """
        file = self._file
        if file.message_count and self._is_full(records):
            begun = self._open(len(self._ended) + 1)
            file.close()
            self._ended.append(file)
            self._file = file = begun
            self.write_metadata()
        count = max(1, min(self._count_by_size(records), self._count_by_time(records)))
        file.add_chunk(records[:count])
        return count

    def check(self) -> None:
        """Raise ChangedFileError if another program removed or changed the present file."""
        self._file.check()

    def check_all(self) -> None:
        """Raise ChangedFileError also for earlier files, which may be moved meanwhile."""
        for each in self._ended:
            check_size(each.path, each.file_size)
        self.check()

    def write_metadata(self) -> None:
        """Write `metadata.yaml` for the current files; raises OSError."""
        metadata.write(self._folder, self._information())

    def end(self) -> None:
        """Mark the recording's end in the last file, after all messages; raises OSError."""
        self._file.add_metadata(RECORDING, ENDED)

    def close(self) -> None:
        """Close the last file, which is already complete."""
        self._file.close()

    def _is_full(self, records: Sequence[bytes]) -> bool:
        layout, file = self._layout, self._file
        return file.size >= layout.split_bytes or (
            int(log_times(records[:1])[0]) - file.first_ns >= layout.split_ns
        )

    def _count_by_size(self, records: Sequence[bytes]) -> int:
        """Return how many messages fit into the file without compression."""
        if self._layout.split_bytes == math.inf:
            return len(records)
        room = max(self._layout.split_bytes - self._file.size, _LEAST_CHUNK_BYTES)
        return int(np.searchsorted(np.cumsum([len(each) for each in records]), room, 'right'))

    def _count_by_time(self, records: Sequence[bytes]) -> int:
        """Return how many messages lie within the file's time limit."""
        if self._layout.split_ns == math.inf:
            return len(records)
        times = log_times(records)
        first = self._file.first_ns if self._file.message_count else int(times[0])
        return int(np.searchsorted(times, first + self._layout.split_ns))

    def _open(self, number: int) -> McapFile:
        """Start a file with all topics; if an OSError is raised, the file is deleted again."""
        path = self._folder / f'{self._folder.name}_{number}.mcap'
        file = McapFile(path, f'sim_bridge {__version__}', self._layout.compression)
        try:
            for topic, definition in self._topics:
                _add_channel(file, topic, definition)
            own = metadata.to_yaml([], [], [StoredFile(path.name, 0, 0, 0)])
            file.add_metadata('rosbag2', {'serialized_metadata': own})
            file.add_metadata(RECORDING, BEGUN)
        except OSError:
            file.close()
            with contextlib.suppress(OSError):
                path.unlink()
            raise
        return file

    def _information(self) -> str:
        files = [*self._ended, self._file]
        # earlier files lack topics added later
        counts = [
            sum(each)
            for each in itertools.zip_longest(*(file.counts for file in files), fillvalue=0)
        ]
        return metadata.to_yaml(
            [topic for topic, _ in self._topics],
            counts,
            [
                StoredFile(file.path.name, file.first_ns, file.last_ns, file.message_count)
                for file in files
            ],
        )


def _add_channel(file: McapFile, topic: Topic, definition: str) -> None:
    file.add_channel(
        topic.name,
        topic.type_name,
        definition,
        {'offered_qos_profiles': topic.qos, 'topic_type_hash': topic.type_hash},
    )
