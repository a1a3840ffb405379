"""Kernel compilation progress, on /diagnostics and in a node's log."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from sim_bridge.compiler.build import listening
from sim_bridge.compiler.progress import Progress
from sim_bridge.foundation.names import counted

if TYPE_CHECKING:
    from rclpy.node import Node
    from rclpy.publisher import Publisher

STATUS = 'kernels'


@contextlib.contextmanager
def reporting_kernels(node: Node) -> Iterator[None]:
    """Report kernel compilation within a block, if any."""
    reports = _Reports(node)
    with listening(reports.take):
        yield
    reports.close()


class _Reports:
    """Publishes one status, and logs when compilation starts and ends."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._publisher: Publisher | None = None
        self._name = f'{node.get_fully_qualified_name().lstrip("/")}: {STATUS}'

    def take(self, progress: Progress) -> None:
        """Publish the compilation progress."""
        log = self._node.get_logger()
        if self._publisher is None:
            self._publisher = self._node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        publisher = self._publisher
        if progress.done == 0:
            units = counted(progress.total, 'unit')
            log.info(f'compiling {units} of kernels, once for this machine')
        elif progress.is_over:
            log.info(f'compiled in {progress.elapsed:.1f} s')
        values = {
            'units': progress.total,
            'compiled': progress.done,
            'elapsed [s]': f'{progress.elapsed:.1f}',
            'left [s]': f'{progress.remaining:.1f}',
        }
        # stamp 0: there may be no simulated time yet
        message = DiagnosticArray(
            status=[
                DiagnosticStatus(
                    level=DiagnosticStatus.OK,
                    name=self._name,
                    message=progress.summary,
                    hardware_id=self._node.get_name(),
                    values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
                )
            ]
        )
        publisher.publish(message)

    def close(self) -> None:
        """Destroy the publisher."""
        if self._publisher is not None:
            self._node.destroy_publisher(self._publisher)
