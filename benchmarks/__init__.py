"""Speed and accuracy compared with MuJoCo, ODE and Pinocchio; run with `python -m benchmarks`."""
