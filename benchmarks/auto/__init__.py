"""What supports the claims about AutoLearner."""
