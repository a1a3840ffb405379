"""Help texts: paragraphs are filled, multi-line texts keep their lines."""

from __future__ import annotations

import argparse


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Fills one-line descriptions, and keeps the lines of other texts, such as examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        kind = argparse.RawDescriptionHelpFormatter if '\n' in text else argparse.HelpFormatter
        return kind._fill_text(self, text, width, indent)
