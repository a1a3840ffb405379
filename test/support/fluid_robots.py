"""Robots with Gazebo's plugins for air and water, as URDF texts."""

from __future__ import annotations

_INERTIA = '<inertia ixx="{0}" iyy="{0}" izz="{1}" ixy="0" ixz="0" iyz="0"/>'


def plugin(filename: str, **tags: object) -> str:
    """Return a plugin in a `<gazebo>` element, with a child for each tag."""
    inside = ''.join(f'<{tag}>{value}</{tag}>' for tag, value in tags.items())
    return f'<gazebo><plugin filename="{filename}" name="p">{inside}</plugin></gazebo>'


def link(name: str, mass: float, inertia: tuple[float, float], more: str = '') -> str:
    """Return a link with equal moments about x and y."""
    inertial = f'<inertial><mass value="{mass}"/>{_INERTIA.format(*inertia)}</inertial>'
    return f'<link name="{name}">{inertial}{more}</link>'


def spinning(name: str, xyz: str = '0 0 0', axis: str = '0 0 1') -> str:
    """Return a joint on the base, and its link, named after it."""
    return (
        f'<joint name="{name}" type="continuous"><parent link="base"/><child link="{name}_link"/>'
        f'<origin xyz="{xyz}"/><axis xyz="{axis}"/></joint>'
        f'{link(f"{name}_link", 0.005, (1e-5, 2e-5))}'
    )


def rotor_plugin(number: int, filename='gz-sim-multicopter-motor-model-system', **tags) -> str:
    """Return a quadrotor's rotor plugin, as in gz-sim's public files."""
    given = {
        'robotNamespace': 'X3',
        'jointName': f'rotor_{number}',
        'linkName': f'rotor_{number}_link',
        'turningDirection': 'ccw' if number < 2 else 'cw',
        'timeConstantUp': 0.0125,
        'timeConstantDown': 0.025,
        'maxRotVelocity': 800.0,
        'motorConstant': 8.54858e-06,
        'momentConstant': 0.016,
        'commandSubTopic': 'gazebo/command/motor_speed',
        'actuator_number': number,
        'rotorDragCoefficient': 8.06428e-05,
        'rollingMomentCoefficient': 1e-06,
        'motorSpeedPubTopic': f'motor_speed/{number}',
        'rotorVelocitySlowdownSim': 10,
        'motorType': 'velocity',
    }
    return plugin(filename, **(given | tags))


QUADROTOR_MASS = 1.52


def quadrotor() -> str:
    """Return a quadrotor with QUADROTOR_MASS [kg]."""
    places = ('0.13 -0.22 0.02', '-0.13 0.2 0.02', '0.13 0.22 0.02', '-0.13 -0.2 0.02')
    rotors = ''.join(spinning(f'rotor_{k}', place) for k, place in enumerate(places))
    plugins = ''.join(map(rotor_plugin, range(4)))
    base = link('base', 1.5, (0.035, 0.06))
    return f'<robot name="x3">{base}{rotors}{plugins}</robot>'


def flight_plugin() -> str:
    """Return the quadrotor's velocity control, with gz-sim's public gains."""
    rotors = ''.join(
        f'<rotor><jointName>rotor_{k}</jointName><forceConstant>8.54858e-06</forceConstant>'
        f'<momentConstant>0.016</momentConstant><direction>{1 if k < 2 else -1}</direction>'
        '</rotor>'
        for k in range(4)
    )
    return plugin(
        'gz-sim-multicopter-control-system',
        robotNamespace='X3',
        commandSubTopic='cmd_vel',
        enableSubTopic='enable',
        comLinkName='base',
        velocityGain='2.7 2.7 2.7',
        attitudeGain='2 3 0.15',
        angularRateGain='0.4 0.52 0.18',
        maximumLinearAcceleration='2 2 2',
        rotorConfiguration=rotors,
    )


def boat(*plugins: str) -> str:
    """Return a 10 kg box, 0.2 m high, with a propeller pushing along x."""
    box = '<collision><geometry><box size="0.5 0.2 0.2"/></geometry></collision>'
    parts = link('base', 10.0, (0.5, 0.5), box) + spinning('propeller', '-0.25 0 0', '1 0 0')
    return f'<robot name="boat">{parts}{"".join(plugins)}</robot>'
