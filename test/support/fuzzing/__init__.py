"""
Hostile inputs of every kind, and one judge of their outcome.

`damage` changes valid inputs. `kinds` defines the valid inputs and the reader for every kind.
`command_messages`, `api_calls` and `nodes` are the kinds without files. `judge` defines the
allowed outcomes. `python -m fuzzing` is the long run; docs/fuzzing.md describes it.
"""
