"""Builds, runs and compares what the driver measures."""
