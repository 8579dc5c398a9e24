"""Algorithm 2: budgeted experts, mini-batches, and what they remember."""
