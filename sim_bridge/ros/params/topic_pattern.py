"""Regular expressions in the parameters record_topics and record_exclude."""

from __future__ import annotations

import re

from sim_bridge.foundation.errors import InvalidValueError


def topic_pattern(name: str, expression: str) -> re.Pattern[str]:
    """Return a compiled expression; name: the parameter's. Raises InvalidValueError."""
    try:
        return re.compile(expression)
    except re.error as err:
        expected = f'regular expressions; in this one, {err}'
        raise InvalidValueError(f'parameter {name!r}', expression, expected) from err
