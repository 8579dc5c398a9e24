"""What could have been, what to buy, does my data fit: what looks at a stream as a whole."""
