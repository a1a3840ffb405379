"""Examples in the document about contact problems."""

from __future__ import annotations

import re


def test_the_example_runs_and_agrees(repository, capsys):
    """Run the document's code: solvers agree with each other and with the engine's step."""
    text = (repository / 'docs' / 'contact_problem.md').read_text()
    (code,) = re.findall(r'```python\n(.*?)```', text, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(code, 'contact_problem.md', 'exec'), names)
    assert 'Residuals' in capsys.readouterr().out
    assert abs(names['primal'].velocity - names['dual'].velocity).max() < 1e-9
    assert abs(names['solution'].velocity - names['reference'].velocity).max() < 1e-9
