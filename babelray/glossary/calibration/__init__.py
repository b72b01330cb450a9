"""Thresholds of hints, moved by what scored and labelled records show."""
