"""
Hostile inputs of every kind, and one judge of what they lead to.

`damage` changes sound inputs, `kinds` says of every kind what is sound and how it is read,
`command_messages`, `api_calls` and `nodes` are the kinds that are no files, `judge` says what an
input may lead to.
`python -m fuzzing` is the long run; docs/fuzzing.md describes it.
"""
