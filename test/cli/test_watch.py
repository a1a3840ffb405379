"""Facts about a simulator, as observed by `sim_bridge run` on topics."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import pytest
from ros_graph import Graph

from sim_bridge.cli.watch import Watch

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")


def test_commands_on_any_topic_and_rates_are_seen():
    """Distinguish a robot driven by twists from a waiting one; read topic rates."""
    with Graph() as graph, Watch('') as watch:
        publisher = graph.advertise(DiagnosticArray, '/diagnostics')

        def says(message: str) -> None:
            publisher.publish(
                DiagnosticArray(
                    status=[
                        DiagnosticStatus(name='sim_bridge: commands of rover', message=message),
                        DiagnosticStatus(
                            name='sim_bridge: topics',
                            values=[KeyValue(key='/imu/gyro', value='200.0 Hz')],
                        ),
                    ]
                )
            )

        def sees(message: str, is_commanded: bool) -> bool:
            says(message)
            seen = watch.look()
            return bool(seen.rates) and seen.is_commanded == is_commanded

        graph.wait(lambda: sees('waiting for the first command', False), 'a robot that waits')
        assert watch.progress.rates == {'/imu/gyro': '200.0 Hz'}
        assert watch.progress.robots == ('rover',)
        graph.wait(lambda: sees('driving', True), 'a robot that drives')
