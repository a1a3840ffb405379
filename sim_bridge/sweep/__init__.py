"""
Sweeps: many runs of one study, each a row of a table, from which it can be made again.

`study` reads what is to be done, `design` says which inputs each run has, `one_run` makes a run,
`host` keeps it in a process of its own, `local` and `on_ray` are what runs many, `store` keeps
rows, `report` shows them. Imports `control`, `ros` and what these import; studies, designs, rows
and reports need no ROS. Only `store` and `table` import pyarrow, only `on_ray` ray.
"""
