"""What a service can do: rounds per second, latency, and what a round costs the processor."""
