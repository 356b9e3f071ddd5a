"""Plots and pages that show what a run did."""
