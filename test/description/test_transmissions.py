"""Transmissions: rotor inertia becomes armature; all other values are named."""

from __future__ import annotations

import pytest
from urdf_cases import robot

from sim_bridge.description import check_description, load_description


def with_transmission(content: str, dynamics: str = '') -> str:
    """Return a robot with a transmission in line 10 on joint elbow."""
    joint = '<joint name="elbow"/>'
    text = f'<transmission name="t">\n{joint}{content}</transmission></robot>'
    return robot({7: f'<axis xyz="0 0 1"/>{dynamics}', 9: text})


def drake(inertia: float, ratio: float = 10.0) -> str:
    """Return Drake's actuator with a rotor inertia [kg m²] and a gear ratio."""
    return (
        f'<actuator name="m"><drake:gear_ratio value="{ratio}"/>'
        f'<drake:rotor_inertia value="{inertia}"/></actuator>'
    )


@pytest.mark.parametrize(
    ('content', 'code', 'element', 'value'),
    [
        (
            '<actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator>',
            'no-effect',
            'transmission/mechanicalReduction',
            '50',
        ),
        ('<type>x/FourBarLinkageTransmission</type>', 'not-simulated', 'transmission', None),
        ('<joint name="elbw"/>', 'unknown-joint', 'transmission/joint', 'elbw'),
        (
            '<mechanicalReduction>many</mechanicalReduction>',
            'not-a-number',
            'transmission/mechanicalReduction',
            'many',
        ),
        (drake(-1.0), 'out-of-range', 'transmission', '-1'),
        (drake(1e30, 1e30), 'out-of-range', 'transmission', '1e+30'),
    ],
)
def test_values_without_effect_are_named(content, code, element, value):
    """Warn of each value with its element and line; the robot is simulated."""
    report = check_description(with_transmission(content))
    [found] = report.findings
    assert (found.severity, found.code, found.element) == ('warning', code, element)
    assert found.line in (9, 10)
    assert value is None or found.value == value


def test_a_transmission_without_reduction_is_silent():
    """Report nothing for ratio 1 and no offset, as most files have."""
    content = (
        '<type>transmission_interface/SimpleTransmission</type><actuator name="m">'
        '<mechanicalReduction>1</mechanicalReduction></actuator>'
    )
    assert check_description(with_transmission(content)).findings == ()


def test_transmissions_of_ros2_control_are_read():
    """Name the reduction of a joint in a <ros2_control> transmission."""
    text = robot(
        {
            9: '<ros2_control name="c" type="system"><transmission name="t"><joint name="elbow">'
            '<mechanical_reduction>-2</mechanical_reduction></joint></transmission>'
            '</ros2_control></robot>'
        }
    )
    [found] = check_description(text).findings
    assert (found.code, found.value) == ('no-effect', '-2')


def test_rotor_inertia_becomes_armature():
    """Multiply by the square of the gear ratio; an own armature of the joint counts instead."""
    text = with_transmission(drake(0.002))
    assert load_description(text).joints['elbow'].dynamics.armature == pytest.approx(0.2)
    own = load_description(with_transmission(drake(0.002), '<dynamics armature="0.5"/>'))
    assert own.joints['elbow'].dynamics.armature == 0.5
    assert [each.code for each in own.report.findings] == ['no-effect']


def test_a_reduction_reflects_the_rotor_inertia():
    """Take the square of the mechanical reduction, and report no value without effect."""
    content = (
        '<actuator name="m"><mechanicalReduction>50</mechanicalReduction>'
        '<rotor_inertia>1e-4</rotor_inertia></actuator>'
    )
    description = load_description(with_transmission(content))
    assert description.joints['elbow'].dynamics.armature == pytest.approx(0.25)
    assert description.report.findings == ()
