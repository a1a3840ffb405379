"""Speed and accuracy beside MuJoCo, ODE and Pinocchio; run with `python -m benchmarks`."""
