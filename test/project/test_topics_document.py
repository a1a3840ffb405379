"""The program in docs/topics.md, run beside a simulator."""

from __future__ import annotations

import re


def test_the_program_moves_a_joint(repository, start_process, tmp_path):
    """Run it unchanged: the joint moves by effort alone."""
    text = (repository / 'docs' / 'topics.md').read_text()
    (program,) = re.findall(r'```python\n(import math.*?)```', text, re.DOTALL)
    (tmp_path / 'swing.py').write_text(program)
    start_process('-m', 'sim_bridge', 'node', '--ros-args', '-p', 'robot:=arm')
    process = start_process(str(tmp_path / 'swing.py'))
    positions = set()
    for line in process.stdout:
        found = re.search(r'joint_6 at (-?\d+\.\d+) rad', line)
        assert found, line
        positions.add(abs(float(found[1])) > 0.1)
        if True in positions:
            break
    assert True in positions
