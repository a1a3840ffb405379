"""Help texts: paragraphs are filled, what has lines of its own keeps them."""

from __future__ import annotations

import argparse


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Fills a description in one line, and keeps the lines of others, such as examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        kind = argparse.RawDescriptionHelpFormatter if '\n' in text else argparse.HelpFormatter
        return kind._fill_text(self, text, width, indent)
