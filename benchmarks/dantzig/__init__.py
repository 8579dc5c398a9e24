"""The Dantzig program and Algorithm 1: against other solvers, printed and in practice."""
