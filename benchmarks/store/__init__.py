"""How many requests a second the store acknowledges, and what waking a learner takes."""
