"""
A bag's writer thread, and its queue.

Publishing code only appends to the queue. The thread takes messages from the queue and writes a
chunk every half second, later every few seconds, or sooner at high data rates. It also keeps
`metadata.yaml` up to date. After the bag has been created, only this thread accesses the disk, so
a stalled disk blocks nothing else. No message is dropped silently: if the disk is too slow, full,
or stalled at the end, the recording ends with all messages up to some time and an error. It also
ends when another program removes or changes a file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
import contextlib
from pathlib import Path
import shutil
import threading
import time

from sim_bridge.foundation import forks
from sim_bridge.foundation.errors import RecordingError
from sim_bridge.foundation.names import counted, free_name
from sim_bridge.ros.bag.bag_files import BagFiles, Layout
from sim_bridge.ros.bag.compression import codec
from sim_bridge.ros.bag.definitions import full_definition
from sim_bridge.ros.bag.mcap_file import ChangedFileError, message_record
from sim_bridge.ros.bag.metadata import Topic

# period for looking at the queue [s]
_POLL_S = 0.02

# Age at which messages are written [s], and number of bytes waiting for it: at the start, and in a
# long recording (see `chunk_limits`). The first chunks are smaller, so that a bag with all topics
# exists soon.
_CHUNK_S = 0.5, 4.0
_CHUNK_BYTES = 4 << 20, 16 << 20
_FIRST_CHUNK = 1 / 16
# rate of writing summaries [bytes/s], as far as the maximum message age permits
_SUMMARY_RATE = 2 << 20
# most messages taken from the queue at once
_BATCH = 1000

# half a minute at 1 kHz with an arm
_QUEUE_BYTES = 64 << 20

ONE_FILE = Layout()

# longest wait of `close` for the disk [s]
_CLOSE_S = 10.0


def chunk_limits(summary_size: int) -> tuple[float, int]:
    """
    Return the gathering time for a chunk [s], and its maximum size [bytes].

    summary_size: bytes written in addition to every chunk. The summary has an entry of one or two
    hundred bytes for each earlier chunk. With a constant period, the total size of summaries would
    grow with the square of the recording's length.
    """
    (least_s, most_s), (least, most) = _CHUNK_S, _CHUNK_BYTES
    return (
        min(max(least_s, summary_size / _SUMMARY_RATE), most_s),
        min(max(least, summary_size), most),
    )


def free_folder(folder: Path) -> Path:
    """Return a folder name not in use yet: the given one, or run_2, run_3 … beside it."""
    return folder.with_name(free_name(folder.name, lambda name: folder.with_name(name).exists()))


class Recorder:
    """
    Writes a new bag, a folder with MCAP files and `metadata.yaml`, until `close`.

    Only one thread at a time may call `write`. `error` is the reason for an early end.
    """

    def __init__(
        self,
        folder: Path,
        layout: Layout = ONE_FILE,
        *,
        waits: bool = False,
        queue_bytes: int = _QUEUE_BYTES,
        close_s: float = _CLOSE_S,
        on_error: Callable[[RecordingError], None] = lambda error: None,
    ) -> None:
        """
        Create the bag and start the thread.

        folder: bag folder; it must not exist. layout: storage settings. waits: whether `write`
        blocks while the queue is full, for callers without real-time deadlines; otherwise a full
        queue ends the recording. queue_bytes: queue capacity. close_s: longest wait of `close` for
        the disk [s]. on_error: called on the thread with the error ending the recording. Raises
        RecordingError if the bag cannot be created, MissingPackageError if no package provides the
        compression.
        """
        self.folder = folder
        self.error: RecordingError | None = None
        self._waits, self._queue_bytes, self._on_error = waits, queue_bytes, on_error
        self._close_s = close_s
        self._queue: deque[bytes] = deque()
        # separate counts for the appending and the taking side: no lock is needed
        self._appended = self._taken = 0
        self._appended_count = self._written_count = 0
        # Topics with definitions, to be added to the file by the thread. A topic is queued before
        # its first message, so the thread finds it when it has taken the message.
        self._new_topics: deque[tuple[Topic, str]] = deque()
        self._topic_count = 0
        self._lock = threading.Lock()  # guards the two lines above; not held while waiting
        self._share = _FIRST_CHUNK
        self._is_ending = self._is_changed = False
        codec(layout.compression)
        try:
            folder.mkdir(parents=True)
            self._files = BagFiles(folder, layout)
            self._files.write_metadata()
        except FileExistsError as err:
            raise RecordingError(folder, 'it exists already and is not overwritten') from err
        except OSError as err:
            raise RecordingError(folder, err.strerror or str(err)) from err
        self._thread = threading.Thread(target=self._run, name='recorder', daemon=True)
        self._thread.start()
        self._is_own = True
        forks.in_child(self, Recorder._begin_in_child)

    def _begin_in_child(self) -> None:
        """Leave the bag to the parent process, in a forked child process."""
        self._is_own, self._is_ending = False, True
        self._queue.clear()
        self.error = RecordingError(self.folder, 'it belongs to the process before its fork')

    @property
    def is_open(self) -> bool:
        """Whether the recorder accepts messages."""
        return not self._is_ending

    @property
    def message_count(self) -> int:
        """Message count in the files."""
        return self._written_count

    @property
    def byte_count(self) -> int:
        """Byte count in the files."""
        return self._files.size

    @property
    def queued_bytes(self) -> int:
        """Byte count in the queue."""
        return self._appended - self._taken

    def add_topic(self, topic: Topic) -> int:
        """Add a topic; return the channel number for its messages."""
        definition = full_definition(topic.type_name)
        with self._lock:
            self._new_topics.append((topic, definition))
            self._topic_count += 1
            return self._topic_count

    def write(
        self, channel: int, number: int, time_ns: int, data: bytes, publish_ns: int | None = None
    ) -> None:
        """
        Queue a message.

        channel: from `add_topic`. number: sequence number within the topic. time_ns: recording
        time [ns]. publish_ns: publish time [ns]; None for the recording time.
        """
        if self._appended - self._taken > self._queue_bytes:
            self._wait_or_fail()
        if not self._is_ending:
            record = message_record(channel, number, time_ns, data, publish_ns)
            self._queue.append(record)
            self._appended += len(record)
            self._appended_count += 1

    def discard(self) -> None:
        """
        End the recording and delete the unneeded bag.

        A bag on a stalled disk is kept, and in a forked child process that of the parent.
        """
        self.close()
        if self._is_own and not self._thread.is_alive():
            with contextlib.suppress(FileNotFoundError):  # somebody was faster
                shutil.rmtree(self.folder)

    def close(self) -> None:
        """
        Write the remaining messages and end the file; `error` holds any failure.

        Waits at most `close_s`. If `write` blocks for the disk, waits as long as the disk accepts
        any data within this time. The thread still writes the messages left afterwards if the disk
        recovers in time.
        """
        self._is_ending = True
        self._thread.join(self._close_s)
        taken = -1
        while self._waits and self._thread.is_alive() and self._taken != taken:
            taken = self._taken
            self._thread.join(self._close_s)
        if self._thread.is_alive():
            left = self._appended_count - self._written_count
            self.error = RecordingError(
                self.folder,
                f'the disk has not accepted all data within {self._close_s:g} s: '
                f'{counted(left, "message")} lost, unless it does before the process ends',
            )
            self._on_error(self.error)

    def _wait_or_fail(self) -> None:
        """Wait for room in the full queue if `waits`; otherwise end the recording."""
        if not self._waits:
            # messages in the queue are still written
            self._fail(f'the disk does not keep up: {self.queued_bytes} bytes wait for it')
        while self.queued_bytes > self._queue_bytes and self.is_open:
            time.sleep(_POLL_S)

    def _run(self) -> None:
        """Write until the end is requested; the thread's main function."""
        try:
            while self._write_chunk():
                self._files.write_metadata()
            if self.error is None:
                self._files.end()
            self._files.check_all()
        except OSError as err:
            self._fail_by(err)
        finally:
            if not self._is_changed:
                with contextlib.suppress(OSError):
                    self._files.write_metadata()
            self._files.close()
            self._queue.clear()

    def _write_chunk(self) -> bool:
        """Gather messages for a while and write them; return whether more may follow."""
        records: list[bytes] = []
        size = 0
        period, most = (self._share * each for each in chunk_limits(self._files.summary_size))
        end = time.monotonic() + period
        may_be_more = True
        while size < most:
            # messages from before the request to end are in the queue
            is_ending = self._is_ending
            batch = [self._queue.popleft() for _ in range(min(len(self._queue), _BATCH))]
            if not batch:
                may_be_more = not is_ending
                if is_ending or time.monotonic() >= end:
                    break
                time.sleep(_POLL_S)
            records += batch
            size += sum(map(len, batch))
        self._files.check()
        self._add_topics()
        try:
            self._add(records)
        except OSError:
            self._save_some(records)
            raise
        self._taken += size
        self._share = min(1.0, 2.0 * self._share)
        return may_be_more

    def _add_topics(self) -> None:
        """Add new topics to the files, which number them in the same order as `add_topic`."""
        while self._new_topics:
            self._files.add_topic(*self._new_topics.popleft())

    def _add(self, records: list[bytes]) -> None:
        """Write messages; after an OSError, messages in earlier files stay written."""
        while records:
            count = self._files.add(records)
            self._written_count += count
            del records[:count]

    def _save_some(self, records: list[bytes]) -> None:
        """Write as many records as fit on the disk, from the first on."""
        count = len(records) // 2
        while count:
            part = records[:count]
            with contextlib.suppress(OSError):
                self._add(part)
            del records[: count - len(part)]
            count = min(count // 2, len(records))

    def _fail_by(self, err: OSError) -> None:
        """End with the system's error, or with the change by another program behind it."""
        if not isinstance(err, ChangedFileError):
            try:
                self._files.check()
            except ChangedFileError as change:
                err = change
            except OSError:
                pass
        self._is_changed = isinstance(err, ChangedFileError)
        self._fail(err.strerror or str(err))

    def _fail(self, reason: str) -> None:
        if self.error is None:
            count = None if self._is_changed else self.message_count
            self.error = RecordingError(self.folder, reason, count)
            self._is_ending = True
            self._on_error(self.error)
