"""AutoLearner: its state, how it chooses, its rounds, its mixture of experts."""
