"""Measured figures, side by side in one run and as ratios: `make bench`."""
