"""Joint motion in a bag, for identifying a robot's parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import (
    DamagedBagError,
    InvalidValueError,
    ReplayError,
    UnknownNameError,
)
from sim_bridge.foundation.validation import one_of
from sim_bridge.identification.recording import Recording
from sim_bridge.ros.bag.mcap_reader import Message, simulated_time
from sim_bridge.ros.bag.reader import Bag
from sim_bridge.ros.wire.joint_state_reader import JointStateReader, JointValues

STATES, COMMANDS = 'joint_states', 'joint_commands'
AUTO = 'auto'
INPUTS = (AUTO, 'commands', 'states')
_JOINT_STATE = 'sensor_msgs/msg/JointState'
_EVERY = 2000


class _Sample(NamedTuple):
    """A message. time: in the bag [s]. stamp: in its header [s], nan for none."""

    time: float
    stamp: float
    names: tuple[str, ...]
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray


def read_joint_motion(
    bag: str | Path,
    joints: Sequence[str],
    progress: Callable[[float], None] = lambda time: None,
    *,
    states: str = STATES,
    commands: str = COMMANDS,
    inputs: str = AUTO,
) -> Recording:
    """
    Return the joint motion in a bag, and the efforts driving it.

    joints: names, as in the messages. progress: called at intervals with the time [s]. states,
    commands: topics with sensor_msgs/JointState, possibly without their namespace. inputs: source
    of the efforts. 'commands': commanded values, each until the next one. 'states': efforts in the
    states, as measured by drives. 'auto': commands if these contain only efforts.

    Times are simulated times in recordings of this package. In other bags they are header stamps,
    if there are any, since messages are received with delays; else reception times.

    Raises UnknownNameError for unknown topics and joints, InvalidValueError if there are no
    efforts, and the errors from `Bag`.
    """
    one_of('input', inputs, INPUTS)
    place = f'bag {str(bag)!r}'
    found, is_ours, warning = _read(bag, progress)
    seen = _with_joints(found, states, joints, place)
    given = [topic for topic in found if _is_meant(topic, commands)]
    if not given and commands != COMMANDS:
        raise UnknownNameError('topic of commands', commands, sorted(found), place)
    told = [sample for topic in given for sample in found[topic]]
    if not is_ours:
        seen, told = _at_stamps(seen, told)
    times, rows = _in_order([sample.time for sample in seen])
    ordered = [seen[k] for k in rows]
    positions = np.stack([_pick(sample, sample.position, joints) for sample in ordered])
    velocities = np.stack([_pick(sample, sample.velocity, joints) for sample in ordered])
    efforts = np.stack([_pick(sample, sample.effort, joints) for sample in ordered])
    if not np.isfinite(positions).all():
        bad = joints[int(np.argmin(np.isfinite(positions).all(axis=0)))]
        raise InvalidValueError(
            'position', 'nan', f'positions of joint {bad!r} in all joint states', place
        )
    notes = [warning] if warning else []
    if not np.isfinite(velocities).all():
        notes.append(f'{place} lacks velocities of some joints; only positions are compared')
    are_efforts = bool(told) and all(
        len(sample.effort) and not len(sample.position) and not len(sample.velocity)
        for sample in told
    )
    own = velocities if np.isfinite(velocities).all() else None
    if inputs == 'commands' or inputs == AUTO and are_efforts:
        when, what = _commanded(told, joints, commands, sorted(found), place, notes)
        return Recording(
            str(bag), tuple(joints), times, positions, own, when, what, 'next', tuple(notes)
        )
    if not np.isfinite(efforts).all():
        bad = joints[int(np.argmin(np.isfinite(efforts).all(axis=0)))]
        why = (
            f'{given[0]} has positions or velocities, and the efforts of drives following them '
            'are unknown'
            if told
            else f'there are no messages on {commands}'
        )
        raise InvalidValueError(
            'effort',
            'nan',
            f'efforts of joint {bad!r} in all {states}, or effort commands: {why}',
            place,
        )
    # before the first command, drives hold the joints by unknown efforts
    begins = min((sample.time for sample in told), default=-np.inf)
    kept = times >= begins
    if np.count_nonzero(kept) < 2:
        raise InvalidValueError(
            'joint states', 'none after the first command', 'states while it was moved', place
        )
    return Recording(
        str(bag),
        tuple(joints),
        times,
        positions,
        own,
        times[kept],
        efforts[kept],
        'previous' if is_ours else 'linear',
        tuple(notes),
    )


def _read(
    bag: str | Path, progress: Callable[[float], None]
) -> tuple[dict[str, list[_Sample]], bool, str]:
    """Return joint states by topic, whether this package made the bag, and a warning or ''."""
    readers: dict[str, JointStateReader] = {}
    found: dict[str, list[_Sample]] = {}
    time_of: Callable[[Message], int] | None = None
    is_ours, begin, warning = False, 0, ''
    read = Bag(bag)
    try:
        for number, message in enumerate(read.messages()):
            if number == 0:
                time_of = simulated_time(message)
                is_ours, begin = time_of is not None, message.time_ns
            time_ns = time_of(message) if time_of else message.time_ns - begin
            if number % _EVERY == 0:
                progress(1e-9 * time_ns)
            if message.type_name != _JOINT_STATE:
                continue
            reader = readers.setdefault(message.topic, JointStateReader())
            values = reader.read(message.data)
            found.setdefault(message.topic, []).append(_sample(time_ns, begin, values))
    except DamagedBagError as err:
        warning = str(err)
    return found, is_ours, warning or read.note


def _sample(time_ns: int, begin_ns: int, values: JointValues) -> _Sample:
    stamp = 1e-9 * (values.time_ns - begin_ns) if values.time_ns else np.nan
    return _Sample(
        1e-9 * time_ns,
        stamp,
        tuple(values.names),
        *(np.array(each) for each in (values.position, values.velocity, values.effort)),
    )


def _is_meant(topic: str, written: str) -> bool:
    return topic == written or topic.endswith('/' + written.lstrip('/'))


def _with_joints(
    found: dict[str, list[_Sample]], states: str, joints: Sequence[str], place: str
) -> list[_Sample]:
    """Return the states from the topic containing the joints."""
    topics = [topic for topic in found if _is_meant(topic, states)]
    if not topics:
        known = sorted(found)
        if not known:
            raise ReplayError(
                f'{place} has no joint states: no topic of {_JOINT_STATE}; record {states}'
            )
        raise UnknownNameError('topic of joint states', states, known, place)
    wanted = set(joints)
    fitting = {
        topic: [each for each in found[topic] if wanted <= set(each.names)] for topic in topics
    }
    fitting = {topic: samples for topic, samples in fitting.items() if samples}
    if len(fitting) > 1:
        raise InvalidValueError(
            'topic of joint states', states, f'one of {", ".join(sorted(fitting))}', place
        )
    if not fitting:
        names = dict.fromkeys(
            name for topic in topics for sample in found[topic] for name in sample.names
        )
        missing = [name for name in joints if name not in names]
        if not missing:
            raise InvalidValueError(
                'joint states',
                'some joints in each message',
                'messages with all joints of the robot',
                place,
            )
        if len(missing) == len(joints):
            raise InvalidValueError(
                'joints',
                ', '.join(names),
                f'those of the robot: {", ".join(joints)}',
                f'{place}, {", ".join(topics)}',
            )
        raise UnknownNameError('joint', missing[0], names, f'{place}, {", ".join(topics)}')
    return next(iter(fitting.values()))


def _at_stamps(seen: list[_Sample], told: list[_Sample]) -> tuple[list[_Sample], list[_Sample]]:
    """Return messages with header times, if all states have header stamps."""
    stamps = np.array([sample.stamp for sample in seen])
    if not np.isfinite(stamps).all() or np.ptp(stamps) == 0.0:
        return seen, told
    # commands without a stamp are assumed to have the same delay as states
    late = float(np.median([sample.time - sample.stamp for sample in seen]))
    return (
        [sample._replace(time=sample.stamp) for sample in seen],
        [
            sample._replace(time=sample.stamp if np.isfinite(sample.stamp) else sample.time - late)
            for sample in told
        ],
    )


def _in_order(times: Sequence[float]) -> tuple[FloatArray, list[int]]:
    """Return rising times and their rows; for equal times the last row."""
    order = np.argsort(times, kind='stable')
    ordered = np.asarray(times)[order]
    last = np.append(np.diff(ordered) > 0.0, True)
    return ordered[last], order[last].tolist()


def _pick(sample: _Sample, values: FloatArray, joints: Sequence[str]) -> FloatArray:
    """Return joint values, nan for joints missing in a message."""
    if len(values) != len(sample.names):
        return np.full(len(joints), np.nan)
    places = {name: at for at, name in enumerate(sample.names)}
    return np.array([values[places[name]] if name in places else np.nan for name in joints])


def _commanded(
    told: list[_Sample],
    joints: Sequence[str],
    commands: str,
    known: Sequence[str],
    place: str,
    notes: list[str],
) -> tuple[FloatArray, FloatArray]:
    """Return command times and efforts; joints missing in a command keep their effort."""
    if not told:
        raise UnknownNameError('topic of commands', commands, known, place)
    times, rows = _in_order([sample.time for sample in told])
    efforts = np.zeros((len(rows), len(joints)))
    latest, ever = np.zeros(len(joints)), np.zeros(len(joints), bool)
    for number, row in enumerate(rows):
        own = _pick(told[row], told[row].effort, joints)
        latest = np.where(np.isfinite(own), own, latest)
        ever |= np.isfinite(own)
        efforts[number] = latest
    if not ever.any():
        raise InvalidValueError(
            'commands',
            f'no efforts on {commands}',
            'effort commands for '
            f'{", ".join(joints)}; --input states uses the efforts in the joint states',
            place,
        )
    if not ever.all():
        idle = [name for name, was in zip(joints, ever, strict=True) if not was]
        notes.append(f'never commanded, assumed to have no effort: {", ".join(idle)}')
    if len(rows) < 2:
        raise InvalidValueError('commands', 'a single one', 'commands over time', place)
    return times, efforts
