"""What the documentation shows that is made from the code: see `docs/conf.py`."""
