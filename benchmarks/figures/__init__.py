"""Scripts that draw the figures of the documentation."""
