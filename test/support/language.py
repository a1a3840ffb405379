"""Rates of roundabout words in docstrings, comments and documents."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
import io
import math
import re
import tokenize
from typing import NamedTuple

LIMITS = {'what': 5, 'that': 60, 'which': 20, 'of': 250}
"""Largest count of each word per 10 000 words."""


class Count(NamedTuple):
    """Words of a text. total: all words. words: number of each word in `LIMITS`."""

    total: int
    words: dict[str, int]


def python_prose(source: str) -> Iterator[str]:
    """Yield the docstrings and comments of a Python module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield ast.get_docstring(node) or ''
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def document_prose(text: str) -> Iterator[str]:
    """Yield the text of a Markdown document without code blocks, inline code and link targets."""
    text = re.sub(r'^(```|~~~).*?^\1', '', text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r'`[^`\n]*`', '', text)
    yield re.sub(r'\]\([^)]*\)', ']', text)


def count(texts: Iterable[str]) -> Count:
    """Count the words of texts."""
    words = [word.lower() for text in texts for word in re.findall(r"[A-Za-z'_]+", text)]
    return Count(len(words), {word: words.count(word) for word in LIMITS})


def excess(counted: Count) -> dict[str, str]:
    """
    Return the words above their limits, each with its count and the count allowed.

    A short text may hold one word of each kind.
    """
    return {
        word: f'{number} of {math.ceil(LIMITS[word] * counted.total / 1e4)} allowed'
        for word, number in counted.words.items()
        if number > math.ceil(LIMITS[word] * counted.total / 1e4)
    }
