"""An attack on keyhole: bad input of every kind, counted. `python -m benchmarks.attack`."""
