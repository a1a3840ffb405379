"""
XML as Gazebo's parser accepts it, turned into well-formed XML with the same lines.

Gazebo reads its files with tinyxml2, which is more tolerant than XML 1.0: a comment may contain
`--`, white space may precede the declaration, an ampersand may stand alone, and a prefix needs no
declaration. Elements may stand beside the root. Older releases of urdf also take comments before
the declaration. All readers of this project, and all programs that receive the text, are stricter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
import re

# the first alternative hides sections whose content is not markup
_MARKUP = re.compile(
    r'(?P<data><!\[CDATA\[.*?\]\]>)|(?P<comment><!--.*?-->)|(?P<ampersand>&(?!#?\w+;))', re.DOTALL
)
# ends at its first end mark only: else many comments have many partitions, and each is tried
_COMMENT = '<!--(?:(?!-->).)*-->'
_DASHES = re.compile('-(?=-|$)')
_DECLARATION = re.compile(
    rf'(?P<before>(?:\s|{_COMMENT})+)(?P<declaration><\?xml\s[^>]*?\?>)', re.ASCII | re.DOTALL
)
# elements without content before or after the only <robot>
_HIDDEN = rf'{_COMMENT}|<\?(?:(?!\?>).)*\?>'
_BESIDE = rf'(?:\s|{_HIDDEN}|<[A-Za-z][^<>]*/>)*'
_BEFORE = re.compile(rf'{_BESIDE}(?=<robot\b)', re.DOTALL)
_AFTER = re.compile(rf'</robot\s*>(?={_BESIDE}\Z)', re.DOTALL)
_EMPTY = re.compile(rf'{_HIDDEN}|(?P<element><[A-Za-z][^<>]*/>)', re.DOTALL)
_DECLARED = ('xml', 'xmlns')
_UNDECLARED = 'urn:undeclared:'


def well_formed(text: str) -> str:
    """Return a document in well-formed XML: comments, ampersands and declaration corrected."""
    declaration = _DECLARATION.match(text)
    if declaration is not None:
        # a declaration seldom has several lines, so the lines stay
        moved = f'{declaration["declaration"]}{declaration["before"]}'
        text = moved + text[declaration.end() :]
    return _MARKUP.sub(_corrected, text)


def robot_alone(text: str) -> str:
    """Return a document without empty elements beside its <robot>; the lines stay."""
    before = _BEFORE.match(text)
    if before is None:
        return text
    start, after = before.end(), _AFTER.search(text, before.end())
    end = len(text) if after is None else after.end()
    return _blank(text[:start]) + text[start:end] + _blank(text[end:])


def _blank(text: str) -> str:
    """Return a text with its elements replaced by white space."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r'\S', ' ', found[0]) if found['element'] else found[0]

    return _EMPTY.sub(blank, text)


def _corrected(found: re.Match[str]) -> str:
    if found['ampersand']:
        return '&amp;'
    if found['comment']:
        # four characters before the content, three after
        content = found['comment'][4:-3]
        return f'<!--{_DASHES.sub(" ", content)}-->'
    return found[0]


def prefixes_of(names: Iterable[str]) -> set[str]:
    """Return the prefixes in tag or attribute names."""
    return {name.partition(':')[0] for name in names if ':' in name}


def declaring(text: str, root_at: int, root_tag: str, prefixes: Collection[str]) -> str:
    """
    Return a document whose root element declares more prefixes.

    root_at: position of the root's start tag in the UTF-8 text [bytes].
    """
    missing = sorted(set(prefixes).difference(_DECLARED))
    if not missing:
        return text
    data = text.encode()
    at = root_at + len(f'<{root_tag}'.encode())
    added = ''.join(f' xmlns:{prefix}="{_UNDECLARED}{prefix}"' for prefix in missing)
    return (data[:at] + added.encode() + data[at:]).decode()
