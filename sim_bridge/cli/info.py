"""`sim_bridge info`: contents of a bag, and events of its run."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
import sys
from typing import Any, TYPE_CHECKING

from sim_bridge.cli import completers
from sim_bridge.cli.completers import completed
from sim_bridge.cli.console import Console
from sim_bridge.cli.environment import require_ros, set_prefix
from sim_bridge.cli.help import HelpFormatter
from sim_bridge.cli.progress import Work
from sim_bridge.foundation.names import bytes_text, counted
from sim_bridge.foundation.terminal import visible

if TYPE_CHECKING:
    from sim_bridge.ros.bag.summary import Summary

_SHOWN = 5  # events listed per kind

_EPILOG = """\
Refused commands and missed deadlines are in bags recorded by this version, and in bags from
`ros2 bag record` containing /diagnostics.

for example:
  sim_bridge info swing
  sim_bridge info swing --all
  sim_bridge info swing --json | jq .topics
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'info',
        help='show the contents of a bag and the events of its run',
        description='Show the topics of a bag with counts and rates, the simulated robots and '
        'world, the events of the run, and whether it can be replayed.',
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    completed(parser.add_argument('bag', help='a folder, or an .mcap file'), completers.files)
    parser.add_argument('--all', action='store_true', help='show all events')
    parser.add_argument('--json', action='store_true', help='print JSON')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """
    Show a bag; return the exit code: 1 if it is damaged or has no end.

    Raises MissingRosError, or ReplayError if the file is not a bag.
    """
    require_ros('sim_bridge info')
    set_prefix()
    from sim_bridge.ros.bag.reader import Bag
    from sim_bridge.ros.bag.summary import summarize

    bag = Path(args.bag)
    with Work(Console(sys.stderr), 'read', Bag(bag).duration) as work:
        found = summarize(bag, work)
    if args.json:
        print(json.dumps(as_json(found), indent=2, ensure_ascii=False))
    else:
        print(visible('\n'.join(_lines(found, None if args.all else _SHOWN))))
    return 1 if found.problem else 0


def as_json(summary: Summary) -> dict[str, Any]:
    """Return a summary as plain data, in the form described in docs/recordings.md."""
    made = summary.simulated
    return {
        'bag': summary.bag,
        'bytes': summary.size,
        'messages': summary.messages,
        'begin': summary.begin,
        'end': summary.end,
        'problem': summary.problem or None,
        'replay': {'possible': not summary.obstacle, 'obstacle': summary.obstacle or None},
        'simulation': None
        if made is None
        else {
            'version': made.version,
            'robots': made.robots,
            'world': made.world or None,
            'namespace': made.namespace,
            'step': made.step,
            'parameters': made.parameters,
        },
        'topics': [
            {
                'name': topic.name,
                'type': topic.type_name,
                'messages': topic.count,
                'rate': topic.rate,
                'first': topic.first,
                'last': topic.last,
                'command': topic.is_command,
            }
            for topic in summary.topics
        ],
        'counts': dict(summary.events.counts),
        'events': [each._asdict() for each in summary.events.kept],
    }


def _lines(summary: Summary, most: int | None) -> list[str]:
    """Return a summary as text; most: events listed per kind, None for all."""
    duration = summary.end - summary.begin
    lines = [
        f'{summary.bag}: {duration:.6g} s, {counted(summary.messages, "message")} on '
        f'{counted(len(summary.topics), "topic")}, {bytes_text(summary.size)}'
    ]
    made = summary.simulated
    if made is not None:
        world = f' in {made.world}' if made.world else ''
        place = '' if made.namespace in ('', '/') else f', namespace {made.namespace}'
        lines.append(
            f'simulated by version {made.version}: {", ".join(made.robots) or "no robot"}{world}, '
            f'steps of {made.step:.6g} s{place}'
        )
    lines += [
        'replay: '
        + (
            f'no: {summary.obstacle}'
            if summary.obstacle
            else 'can be replayed (`sim_bridge replay`)'
        )
    ]
    if summary.problem:
        lines.append(f'warning: {summary.problem}')
    width = max((len(topic.name) for topic in summary.topics), default=0)
    kinds = max((len(topic.type_name) for topic in summary.topics), default=0)
    lines += ['', 'topics']
    for topic in summary.topics:
        rate = '' if topic.rate is None else f'{topic.rate:10.5g} Hz'
        mark = '  command' if topic.is_command else ''
        lines.append(
            f'  {topic.name:{width}}  {topic.type_name:{kinds}}  {topic.count:8d}{rate}{mark}'
        )
    happened = summary.events
    lines += ['', 'events'] if happened.counts else ['', 'no events']
    for kind, count in happened.counts.most_common():
        lines.append(f'  {kind}: {count}')
        own = [each for each in happened.kept if each.kind == kind]
        shown = own[:most]
        lines += [f'    {each.time:10.3f} s  {each.text}' for each in shown]
        if len(shown) < len(own):
            lines.append(f'    … {len(own) - len(shown)} more, by --all')
    return lines
