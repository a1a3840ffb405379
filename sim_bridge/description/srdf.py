"""SRDF files: link pairs without collision."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sim_bridge.description.report import DescriptionError, Findings, Place, unknown
from sim_bridge.description.xml.document import parse_document, read_source


def read_srdf(source: str | Path, links: Iterable[str]) -> frozenset[frozenset[str]]:
    """
    Return the link pairs in an SRDF's `disable_collisions` elements.

    source: file path, or XML text. `default_self_collision_enabled` is ignored: it belongs
    to MoveIt alone. Raises DescriptionError, with every defect, for an unreadable file or for
    links missing in the robot.
    """
    findings, pairs, known = Findings(), set(), set(links)
    name, data = read_source(source, findings)
    document = None if data is None else parse_document(data, findings)
    for node in () if document is None else document.root.walk():
        if node.tag != 'disable_collisions':
            continue
        place = Place('disable_collisions', line=node.line)
        names = [node.get(end, '') for end in ('link1', 'link2')]
        for end, link in zip(('link1', 'link2'), names, strict=True):
            if link not in known:
                findings.error('unknown-link', place, unknown('link', link, known), end, link)
        pairs.add(frozenset(names))
    report = findings.report(name)
    if not report.ok:
        raise DescriptionError(report)
    return frozenset(pairs)
