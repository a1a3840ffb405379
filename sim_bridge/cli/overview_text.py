"""The data of `overview` as readable text, at most 100 columns wide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
import textwrap
from typing import Any

from sim_bridge.foundation.names import counted

WIDTH = 100
# lines shown per list unless all are requested
MOST = 40
# indentation limit [columns] for deep trees
_DEEPEST = 32

_UNITS = {'prismatic': ('m', 'N', 'm/s')}
_TURNING = ('rad', 'N m', 'rad/s')
_AXES: dict[tuple[float, ...], str] = {
    (1.0, 0.0, 0.0): 'x',
    (0.0, 1.0, 0.0): 'y',
    (0.0, 0.0, 1.0): 'z',
    (-1.0, 0.0, 0.0): '-x',
    (0.0, -1.0, 0.0): '-y',
    (0.0, 0.0, -1.0): '-z',
}

Data = dict[str, Any]


def robot_text(robot: Data, most: int | None = MOST) -> str:
    """Return a robot as text; most: lines per list, None for all."""
    return '\n'.join(_robot_lines(robot, most))


def gravity_text(gravity: Sequence[float] | Data) -> str:
    """Return the result of `gravity_data` as text."""
    if not isinstance(gravity, Mapping):
        return f'{_vector(gravity)} m/s²'
    return (
        f'towards {_vector(gravity["center"])} m, {gravity["strength"]:.4g} m/s² times the '
        f'distance to the power of {gravity["exponent"]:g}'
    )


def scene_text(scene: Data, most: int | None = MOST) -> str:
    """Return a scene and its robots as text; most: lines per list, None for all."""
    gravity = "the simulator's" if scene['gravity'] is None else (gravity_text(scene['gravity']))
    ground = 'none' if scene['ground'] is None else f'at height {scene["ground"].get("height", 0)}'
    lines = [*_wrapped(scene['description']), *_wrapped(f'gravity: {gravity}; ground: {ground}')]
    fields = [f'{each["name"]} ({each["type"]})' for each in scene['force_fields']]
    if fields:
        lines += _wrapped(f'fields of force: {", ".join(fields)}', '  ')
    if scene['settings']:
        settings = [f'{name} {value}' for name, value in scene['settings'].items()]
        lines += _wrapped(f'run by: {", ".join(settings)}', '  ')
    if scene['materials']:
        lines += _wrapped(f'materials: {", ".join(scene["materials"])}', '  ')
    if scene['objects']:
        lines += ['', 'objects', *_abridged([_body(each) for each in scene['objects']], most)]
    if scene['joints']:
        lines += ['', 'joints', *_abridged([_joined(each) for each in scene['joints']], most)]
    for each in scene['robots']:
        lines += [
            '',
            *_wrapped(
                f'robot {each["name"]!r} in namespace {each["namespace"]!r}, from {each["file"]}'
            ),
        ]
        if each['robot'] is not None:
            lines += [f'  {line}'.rstrip() for line in _robot_lines(each['robot'], most, 2)]
    return '\n'.join(lines)


def parameters_text(nodes: Sequence[Data], most: int | None = MOST) -> str:
    """Return the values in a parameter file as text; most: lines per list, None for all."""
    lines: list[str] = []
    for node in nodes:
        takers = ', '.join(node['taken_by']) or 'no node of this package'
        lines += [
            f'{node["pattern"]}: for {takers}',
            *_abridged([f'{name}: {value}' for name, value in node['parameters'].items()], most),
            '',
        ]
    return '\n'.join(lines[:-1])


def _robot_lines(robot: Data, most: int | None, margin: int = 0) -> Iterator[str]:
    width = WIDTH - margin

    def section(title: str, lines: Iterable[str]) -> Iterator[str]:
        listed = list(lines)
        if listed:
            yield ''
            yield title
            yield from _abridged(listed, most, width)

    links, joints = len(robot['links']), len(robot['joints'])
    yield from _wrapped(
        f'robot {robot["name"]!r}: {robot["base"]} base, {counted(links, "link")}, '
        f'{counted(joints, "joint")}',
        '',
        width,
    )
    yield from _wrapped(f'base: {robot["base"]}, since {robot["base_reason"]}', '', width)
    yield from _wrapped(f'degrees of freedom: {_freedoms(robot["degrees_of_freedom"])}', '', width)
    mass = robot['mass']
    centre = mass['center_of_mass']
    where = (
        ''
        if centre is None
        else (f', its centre at {_vector(centre)} m from {robot["root"]!r}, all joints at 0')
    )
    yield from _wrapped(f'mass: {mass["total"]:.4g} kg{where}', '', width)
    yield from section('tree: joint, type, axis, limits, child link, its mass', _tree(robot))
    yield from section(
        'loop joints',
        (
            f'{each["name"]}  {each["type"]} between {each["link1"]} and {each["link2"]}'
            for each in robot['loops']
        ),
    )
    yield from section('sensors', map(_sensor, robot['sensors']))
    yield from section(
        'ros2_control: command interfaces; state interfaces',
        (line for system in robot['ros2_control'] for line in _system(system)),
    )
    yield from section(
        'drives',
        (
            f'{each["name"]}  {each["kind"]}: {_wheels(each)}'
            + (f', steered by {", ".join(each["steering"])}' if each['steering'] else '')
            for each in robot['drives']
        ),
    )
    yield from section(
        'tracks', (f'{each["name"]}  on link {each["link"]}' for each in robot['tracks'])
    )
    yield from section(
        'forces', (f'{each["name"]}  on {", ".join(each["links"])}' for each in robot['forces'])
    )
    yield from section('topics of plugins', robot['plugin_topics'])
    shapes = robot['collision_shapes']
    yield from section(
        'collision shapes',
        [
            *(
                counted(number, word, f'{word}es' if word.endswith(('x', 'sh')) else '')
                for kind, number in shapes['counts'].items()
                if (word := kind.replace('_', ' '))
            ),
            *(
                f'{each["kind"].replace("_", " ")} on {each["link"]}: '
                f'{counted(each["triangles"], "triangle")}'
                for each in shapes['meshes']
            ),
        ],
    )
    yield from section(
        'not simulated',
        (f'line {each["line"]}: {each["what"]}: {each["why"]}' for each in robot['not_simulated']),
    )


def _tree(robot: Data) -> Iterator[str]:
    """Yield the root link, and a line per joint below the line of its parent joint."""
    masses = {link['name']: link['mass'] for link in robot['links']}
    children: dict[str, list[Data]] = {}
    for joint in robot['joints']:
        children.setdefault(joint['parent'], []).append(joint)
    if not robot['links']:
        return
    yield f'{robot["root"]}{_kilograms(masses[robot["root"]])}'
    # explicit stack: a chain may be longer than Python's recursion limit
    stack = [(1, joint) for joint in reversed(children.get(robot['root'], []))]
    while stack:
        depth, joint = stack.pop()
        child = joint['child']
        space = ' ' * min(2 * depth, _DEEPEST)
        level = f'[{depth}] ' if 2 * depth > _DEEPEST else ''
        yield f'{space}{level}{_joint(joint)} -> {child}{_kilograms(masses[child])}'
        stack += [(depth + 1, each) for each in reversed(children.get(child, []))]


def _joint(joint: Data) -> str:
    parts = [joint['type']]
    parts += [_axis(joint[name]) for name in ('axis', 'axis2') if joint[name] is not None]
    for name in ('limits', 'limits2'):
        if joint[name] is not None:
            is_second = name == 'limits2'
            parts += _limits(joint[name], 'revolute' if is_second else joint['type'])
    if joint['mimic'] is not None:
        mimic = joint['mimic']
        parts.append(f'= {mimic["multiplier"]:g} {mimic["joint"]} + {mimic["offset"]:g}')
    return f'{joint["name"]}  {", ".join(parts)}'


def _limits(limits: Data, kind: str) -> Iterator[str]:
    position, effort, velocity = _UNITS.get(kind, _TURNING)
    lower, upper = (
        'no stop' if value is None else f'{value:.4g}'
        for value in (limits['lower'], limits['upper'])
    )
    if limits['lower'] is not None or limits['upper'] is not None:
        yield f'{lower} to {upper} {position}'
    least, most = (
        'any' if limits[name] is None else f'{limits[name]:.4g}'
        for name in ('lower_effort', 'effort')
    )
    if least.removeprefix('-') != most:
        yield f'{least} to {most} {effort}'
    elif most != 'any':
        yield f'{most} {effort}'
    if limits['velocity'] is not None:
        yield f'{limits["velocity"]:.4g} {velocity}'


def _freedoms(counts: Data) -> str:
    parts = [
        f'{counts["base"]} of the free base' if counts['base'] else '',
        f'{counts["one_axis_joints"]} of one-axis joints' if counts['one_axis_joints'] else '',
        f'{counts["several_axes_joints"]} of other joints'
        if counts['several_axes_joints']
        else '',
    ]
    text = f'{counts["total"]} = {" + ".join(filter(None, parts)) or "0"}'
    if counts['taken_by_loops']:
        text += f' - {counts["taken_by_loops"]} taken by loops'
    if counts['mimic_joints']:
        text += f'; {counted(counts["mimic_joints"], "mimic joint")} besides'
    return text


def _wheels(drive: Data) -> str:
    """Return a drive's wheels as text."""
    wheels = drive['wheels']
    if not wheels:
        return 'moves the base, without wheels'
    return f'{counted(len(wheels), "wheel")} ({", ".join(each["joint"] for each in wheels)})'


def _sensor(sensor: Data) -> str:
    where = f'joint {sensor["joint"]}' if sensor['joint'] else f'link {sensor["link"]}'
    rate = 'every step' if sensor['update_rate'] is None else f'{sensor["update_rate"]:g} Hz'
    return (
        f'{sensor["name"]}  {sensor["kind"]} on {where}, frame {sensor["frame"]}, {rate}, '
        f'{_noise(sensor["noise"])}'
    )


def _noise(noise: Data) -> str:
    """Return noise as text, with equal channels grouped: 'stddev 0.1 of force.x, force.y'."""
    groups: dict[str, list[str]] = {}
    for channel, values in noise.items():
        text = ' '.join(f'{name} {value:g}' for name, value in values.items() if name != 'kind')
        groups.setdefault(text, []).append(channel)
    texts = [f'{text} of {_channels(channels)}' for text, channels in groups.items()]
    return f'noise: {"; ".join(texts)}' if texts else 'no noise'


def _channels(channels: Sequence[str]) -> str:
    """Return channel names; a quantity with all three axes is named without them."""
    quantities: dict[str, list[str]] = {}
    for channel in channels:
        quantity, _, axis = channel.rpartition('.')
        quantities.setdefault(quantity, []).append(axis)
    return ', '.join(
        quantity if sorted(axes) == ['x', 'y', 'z'] else f'{quantity}.{"".join(axes)}'
        for quantity, axes in quantities.items()
    )


def _system(system: Data) -> Iterator[str]:
    yield f'{system["name"]}  {system["plugin"]}'
    for joint in system['joints']:
        yield (
            f'  {joint["name"]}  {" ".join(joint["command_interfaces"]) or "none"}; '
            f'{" ".join(joint["state_interfaces"]) or "none"}'
        )
    for sensor in system['sensors']:
        yield f'  {sensor["name"]}  sensor; {" ".join(sensor["state_interfaces"]) or "none"}'


def _body(body: Data) -> str:
    mass = next(
        (
            f', {body[name]:g} {unit}'
            for name, unit in (('mass', 'kg'), ('density', 'kg/m³'))
            if body[name] is not None
        ),
        '',
    )
    shapes = ', '.join(each.replace('_', ' ') for each in body['shapes'])
    return f'{body["name"]}  {body["motion"]}: {shapes}{mass}'


def _joined(joint: Data) -> str:
    beside = joint['beside']
    ties = f'beside {beside}' if beside else f'of {" and ".join(joint["between"])}'
    return f'{joint["name"]}  {joint["type"]} {ties}'


def _kilograms(mass: float) -> str:
    return f', {mass:.4g} kg' if mass else ''


def _axis(axis: Sequence[float]) -> str:
    return _AXES.get(tuple(axis), _vector(axis))


def _vector(vector: Sequence[float]) -> str:
    return ' '.join(f'{value:.4g}' for value in vector)


def _abridged(lines: Sequence[str], most: int | None, width: int = WIDTH) -> Iterator[str]:
    """Yield lines, indented and wrapped; beyond `most`, only their number."""
    shown = lines if most is None or len(lines) <= most else lines[:most]
    for line in shown:
        yield from _wrapped(line, '  ', width)
    if len(shown) < len(lines):
        yield f'  … and {len(lines) - len(shown)} more; --all shows them'


def _wrapped(line: str, margin: str = '', width: int = WIDTH) -> list[str]:
    """Return a wrapped line; continuation lines are indented further than the first."""
    indent = margin + ' ' * (len(line) - len(line.lstrip()))
    return textwrap.wrap(
        line.strip(),
        width,
        initial_indent=indent,
        subsequent_indent=f'{indent}    ',
        break_on_hyphens=False,
    ) or ['']
