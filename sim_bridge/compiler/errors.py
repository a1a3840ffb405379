"""Kernel compiler error."""

from __future__ import annotations


class KernelError(Exception):
    """
    Kernel code outside the supported subset of Python.

    The message names file, line, column and kernel, and suggests a replacement.
    """

    def __init__(self, path: str, line: int, column: int, kernel: str, problem: str):
        """Refer to a place in a source file; line: from 1; column: from 0, as in `ast`."""
        self.path, self.line, self.column = path, line, column
        self.kernel, self.problem = kernel, problem
        super().__init__(f'{path}:{line}:{column + 1}: kernel {kernel!r}: {problem}')
