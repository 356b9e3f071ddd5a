"""The plots: one skeleton for each kind of story, with its tables. `catalogue.py` lists them all."""
