"""
Sweeps: many runs for one study; each gives a table row, and can be repeated from it.

`study` reads the study, `design` computes each run's inputs, `one_run` makes a run, `host`
makes runs in a separate process, `local` and `on_ray` make many, `store` keeps rows, `report`
shows them. Imports `control`, `ros` and everything below; studies, designs, rows and reports need
no ROS. Only `store` and `result_table` import pyarrow, only `on_ray` imports ray.
"""
