"""The error of the kernel compiler."""

from __future__ import annotations


class KernelError(Exception):
    """
    A kernel uses something outside the subset of Python that the compiler knows.

    The message names file, line, column and kernel, and says what to write instead.
    """

    def __init__(self, path: str, line: int, column: int, kernel: str, problem: str):
        """Refer to a place in a source file; line: from 1; column: from 0, as `ast` counts it."""
        self.path, self.line, self.column = path, line, column
        self.kernel, self.problem = kernel, problem
        super().__init__(f'{path}:{line}:{column + 1}: kernel {kernel!r}: {problem}')
