"""What stopping early saves: tickets bought step by step beside tickets bought at once."""
