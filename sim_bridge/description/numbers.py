"""Numbers in files: their expected count and range, and findings for other numbers."""

from __future__ import annotations

from dataclasses import dataclass
import math
import re

from sim_bridge.description.report import Findings, Place

_DECIMAL = re.compile(r'[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?', re.ASCII)
LARGEST = 1e30
"""Larger than any number for a robot in SI units; its squares and products are still finite."""
_INFINITE = {
    word: sign * math.inf
    for name in ('inf', 'infinity')
    for word, sign in ((name, 1), (f'+{name}', 1), (f'-{name}', -1))
}


@dataclass(frozen=True)
class Numbers:
    """
    Numeric attribute.

    count: how many numbers. default: replacement for a missing or broken attribute. minimum: least
    allowed value, itself excluded if `above`. infinite: whether an infinite value is allowed, as
    no limit.
    """

    count: int = 1
    default: str = '0'
    required: bool = True
    minimum: float = -math.inf
    above: bool = False
    infinite: bool = False


def parse_numbers(
    text: str, numbers: Numbers, place: Place, findings: Findings, attribute: str
) -> list[float] | None:
    """Return the numbers in a text; None, with an error noted, if they are not as expected."""
    values = []
    for word in text.split():
        value = float(word) if _DECIMAL.fullmatch(word) else _INFINITE.get(word.lower())
        if value is None:
            problem = (
                'must be finite'
                if word.lower().lstrip('+-') == 'nan'
                else f'{word!r} is not a number'
            )
            findings.error('not-a-number', place, problem, attribute, text)
            return None
        if math.isinf(value) and not numbers.infinite:
            findings.error('not-a-number', place, 'must be finite', attribute, text)
            return None
        if abs(value) > LARGEST and not numbers.infinite:
            message = f'larger than {LARGEST:g}, the largest that is computed with'
            findings.error('out-of-range', place, message, attribute, text)
            return None
        values.append(value)
    if len(values) != numbers.count:
        expected = f'{numbers.count} number{"s" if numbers.count > 1 else ""}'
        findings.error(
            'wrong-count', place, f'expected {expected}, got {len(values)}', attribute, text
        )
        return None
    if any(
        value < numbers.minimum or (numbers.above and value == numbers.minimum) for value in values
    ):
        bound = f'must be {"above" if numbers.above else "at least"} {numbers.minimum:g}'
        findings.error('out-of-range', place, bound, attribute, text)
        return None
    return values
