"""Bag summary: topics, simulation setup, events, and whether it can be replayed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim_bridge.foundation.errors import brief, DamagedBagError, ReplayError
from sim_bridge.foundation.version import __version__
from sim_bridge.ros.bag.events import Events
from sim_bridge.ros.bag.fields import bag_time
from sim_bridge.ros.bag.reader import Bag
from sim_bridge.ros.bag.recording import Setup
from sim_bridge.ros.bag.replay import check_bundles, check_files, read_setup

_NOT_REPLAYED = 'functions of a program'


@dataclass
class TopicSummary:
    """A topic. first, last: message times [s]. is_command: whether the simulator took them."""

    name: str
    type_name: str
    count: int
    first: float
    last: float
    is_command: bool = False

    @property
    def rate(self) -> float | None:
        """Messages per second between the first and the last, None for fewer than two."""
        span = self.last - self.first
        return (self.count - 1) / span if span > 0.0 else None


@dataclass
class Simulated:
    """Setup for a run recorded by this package. step: control step [s]."""

    version: str
    robots: list[str]
    world: str
    namespace: str
    step: float
    parameters: dict[str, Any]


@dataclass
class Summary:
    """
    Bag contents.

    begin, end: times of its first and last message [s], in simulated time for recordings of this
    package. size: [bytes]. simulated: None for other bags. obstacle: reason against a replay, ''
    if it is possible. problem: text about damage or a killed writer, or ''.
    """

    bag: str
    size: int
    begin: float
    end: float
    topics: list[TopicSummary]
    events: Events
    simulated: Simulated | None
    obstacle: str
    problem: str

    @property
    def messages(self) -> int:
        """Message count."""
        return sum(topic.count for topic in self.topics)


def summarize(bag: str | Path, progress: Callable[[float], None] = lambda time_s: None) -> Summary:
    """
    Read a bag to its end.

    progress: called at intervals with the time [s]. Raises ReplayError like `Bag`.
    """
    read, topics, events = Bag(bag), dict[str, TopicSummary](), Events()
    time_of, problem, begin, end = None, '', 0.0, 0.0
    try:
        for number, message in enumerate(read.messages()):
            if time_of is None:
                time_of = bag_time(message)
                begin = time_of(message)
            end = time_of(message)
            topic = topics.get(message.topic)
            if topic is None:
                topics[message.topic] = TopicSummary(message.topic, message.type_name, 1, end, end)
            else:
                topic.count += 1
                topic.last = end
            events.take(end, message)
            if number % 2000 == 0:
                progress(end)
    except DamagedBagError as err:
        problem = str(err)
    events.finish()
    simulated, obstacle = None, ''
    try:
        setup, _ = read_setup(bag)
        for name in setup.commands.keys() & topics.keys():
            topics[name].is_command = True
        simulated = _simulated(setup)
        obstacle = _obstacle(setup, events)
    except ReplayError as err:
        obstacle = str(err)
    return Summary(
        str(bag),
        read.size,
        begin,
        end,
        sorted(topics.values(), key=lambda topic: topic.name),
        events,
        simulated,
        obstacle,
        problem or read.note,
    )


def _simulated(setup: Setup) -> Simulated:
    given = setup.parameters
    world = given.get('world') or ''
    rate = given.get('rate')
    return Simulated(
        setup.version,
        list(setup.descriptions),
        str(world),
        setup.namespace,
        1.0 / rate if isinstance(rate, (int, float)) and rate > 0 else 0.0,
        given,
    )


def _obstacle(setup: Setup, events: Events) -> str:
    """Return the reason against a replay, as far as known without one; else ''."""
    try:
        check_files(setup.files)
        check_bundles(setup.bundles or '')
    except ReplayError as err:
        return str(err)
    if events.counts[_NOT_REPLAYED]:
        return 'Python functions not stored in the bag act on the world'
    if setup.version != __version__:
        return (
            f'it was made by version {brief(setup.version)}, this is version {__version__}: bits '
            'may differ'
        )
    return ''
