"""Document encodings: the published text is the checked text."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from sim_bridge.description import check_description, load_description

BODY = '<robot name="Größe"><link name="l"/></robot>'
HIDDEN = '<robot name="r"><link name="l"/>{}</robot>'


def write(path, encoding, codec, mark=b'', text=BODY):
    """Write a document in its declared encoding."""
    declared = f'<?xml version="1.0" encoding="{encoding}"?>' if encoding else ''
    path.write_bytes(mark + f'{declared}{text}'.encode(codec))
    return path


@pytest.mark.parametrize(
    ('encoding', 'codec', 'mark'),
    [
        ('UTF-8', 'utf-8', b''),
        ('', 'utf-8', b''),
        ('utf-8', 'utf-8', b'\xef\xbb\xbf'),
        ('ISO-8859-1', 'latin-1', b''),
        ('UTF-16', 'utf-16', b''),
        ('', 'utf-16-le', b'\xff\xfe'),
        ('UTF-16', 'utf-16-be', b''),
        ('UTF-16', 'utf-16-le', b''),
    ],
)
def test_known_encodings_are_read(tmp_path, encoding, codec, mark):
    """Read a name in every encoding, and store the document as text declaring UTF-8."""
    description = load_description(write(tmp_path / 'r.urdf', encoding, codec, mark))
    assert description.name == 'Größe'
    root = ElementTree.fromstring(description.xml.encode())
    assert root.get('name') == 'Größe'
    assert encoding.lower() in ('', 'utf-8') or encoding not in description.xml


@pytest.mark.parametrize(
    'encoding',
    [
        'unicode_escape',
        'raw_unicode_escape',
        'utf-7',
        'cp037',
        'punycode',
        'idna',
        'hex',
        'rot13',
        'windows-1252',
        'x' * 5000,
    ],
)
def test_other_encodings_are_refused(tmp_path, encoding):
    """Refuse encodings that can hide elements, in a file and in a text."""
    text = HIDDEN.format('\\u003cjoint name="hidden"/\\u003e')
    path = write(tmp_path / 'r.urdf', encoding, 'utf-8', text=text)
    for source in (path, path.read_text()):
        (finding,) = check_description(source).errors
        assert finding.code == 'encoding'
        assert 'known: UTF-8, UTF-16, US-ASCII, ISO-8859-1' in finding.message
        assert len(finding.message) < 1000


def test_bytes_in_another_encoding_are_refused(tmp_path):
    """Name the byte that is not in the document's encoding."""
    (finding,) = check_description(write(tmp_path / 'r.urdf', 'UTF-8', 'latin-1')).errors
    assert (finding.code, 'byte 53 is wrong' in finding.message) == ('encoding', True)
