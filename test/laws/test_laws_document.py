"""Examples in the document about control laws."""

from __future__ import annotations

import re

import numpy as np


def test_the_examples_run(repository):
    """Follow the reference closely, and find the configuration for the pose."""
    text = (repository / 'docs' / 'control_laws.md').read_text()
    names: dict[str, object] = {}
    for block in re.findall(r'```python\n(.*?)```', text, re.DOTALL):
        exec(compile(block, 'control_laws.md', 'exec'), names)
    assert np.abs(names['error']).max() < 2e-3
    assert np.isfinite(names['arm'].u).all()
    assert ((names['arm'].lower <= names['q']) & (names['q'] <= names['arm'].upper)).all()
