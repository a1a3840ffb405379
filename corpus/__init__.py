"""Corpus test: public robot files, tried without edits (docs/development/corpus.md)."""
