"""Measured figures, side by side in one run and as ratios: `python -m benchmarks` or `make
bench`.
"""
