"""Calls of the library with wrong arguments, on every public member of what users hold."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import inspect
import json
from pathlib import Path
from random import Random
import traceback
from typing import Any

from shipped import path_of

from fuzzing.damage import VALUES
from fuzzing.judge import LONGEST_ERROR
from fuzzing.stepping import step_on
import sim_bridge as sb
from sim_bridge.foundation import attributes

_CALLS = 5
# they take steps by the number; `SECONDS` would be up
_NOT_HUGE = {'step'}
# where the classes are that users do not make
_NOT_MADE = tuple(f'sim_bridge.{name}' for name in (
    'description.model', 'robots', 'sensors', 'world.contacts', 'world.queries'))


def make(rng: Random) -> bytes:
    """Return calls as JSON: holder and member by number, arguments by number in `_arguments`."""
    held = _holders()
    calls = []
    for _ in range(rng.randint(1, _CALLS)):
        holder = rng.randrange(len(held))
        members = _members(held[holder])
        if members:
            arguments = [rng.randrange(len(_arguments(held))) for _ in range(6)]
            calls.append([holder, rng.choice(members), rng.randint(0, 6), arguments])
    return json.dumps(calls).encode()


def run(case: bytes, folder: Path) -> None:
    """Make the calls; each works or is refused, and what is left of the world can be stepped."""
    held = _holders()
    given = _arguments(held)
    for holder, name, count, numbers in json.loads(case):
        arguments = [given[number] for number in numbers]
        with contextlib.suppress(_Refused):
            _call(held[holder], name, arguments[:count], arguments)
    step_on(held[1])


def _holders() -> list[Any]:
    """Return a new world with all that is in it."""
    world = sb.World()
    robot = world.load_urdf(path_of('arm'), collisions='none')
    ball = world.add_body(sb.Sphere(0.1), 'ball', position=(0.0, 0.0, 2.0))
    joint = robot.joint('joint_1')
    return [
        sb, world, robot, ball, robot.links[1], joint, joint.axes[0], *robot.devices(),
        world.geometries[0], world.materials, sb.dynamics]


def _arguments(held: list[Any]) -> list[Any]:
    """Return wrong values, and right ones, some of which belong elsewhere."""
    robot = held[2]
    other = _other()
    return [
        *(value for value in VALUES), robot, robot.links[0], robot.joints[0], robot.joints[0].name,
        robot.links[-1].name, robot.name, 'ball', other, other.links[0], other.joints[0],
        held[1].save(), 10**5000, sb.Sphere(0.1), sb.Box((0.1, 0.1, 0.1)), object(), len,
        (0.0, 0.0, 0.1)]


_others: list[Any] = []


def _other() -> Any:
    """Return a robot of another world, which nothing may change."""
    if not _others:
        _others.append(sb.World().load_urdf(path_of('pendulum')))
    return _others[0]


def _members(holder: Any) -> list[str]:
    names = [name for name in dir(holder) if not name.startswith('_')]
    if holder is not sb.dynamics:
        return names
    # what it imports is no part of it
    return [name for name in names if inspect.isfunction(getattr(holder, name)) and (
        getattr(holder, name).__module__ == holder.__name__)]


class _Refused(Exception):
    """A call was refused in words."""


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Turn errors that are meant into a _Refused; those of Python for an attribute are, too."""
    try:
        yield
    except sb.SimBridgeError as err:
        if len(str(err)) > LONGEST_ERROR:
            raise AssertionError(f'an error of {len(str(err))} characters') from err
        raise _Refused from err
    except AttributeError as err:
        innermost = Path(traceback.extract_tb(err.__traceback__)[-1].filename)
        if innermost not in (Path(__file__), Path(attributes.__file__)):
            raise
        raise _Refused from err


@_refusals()
def _call(holder: Any, name: str, few: list[Any], enough: list[Any]) -> None:
    """Call a method with as many arguments as it takes; read and set what is none."""
    own = inspect.getattr_static(type(holder), name, None)
    value = getattr(holder, name)
    if inspect.ismodule(value) or (isinstance(value, type) and (
            issubclass(value, Exception) or value.__module__.startswith(_NOT_MADE))):
        return
    if not callable(value):
        if not inspect.ismodule(holder) and (own is not None):
            setattr(holder, name, enough[0])
        return
    if name in _NOT_HUGE:
        enough = few = [each for each in enough if not isinstance(each, int) or abs(each) < 100]
    try:
        parameters = inspect.signature(value).parameters.values()
    except ValueError:
        return
    positional = [each for each in parameters if each.kind in (
        each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    required = sum(each.default is each.empty for each in positional)
    named = {each.name: argument for each, argument in zip(
        (each for each in parameters if each.kind == each.KEYWORD_ONLY), reversed(enough),
        strict=False) if each.default is each.empty or len(few) % 2}
    if len(enough) < required:
        return
    value(*enough[:max(required, min(len(few), len(positional)))], **named)
