"""What every benchmark needs: peers in environments of their own, rounds, medians, a table, files."""
