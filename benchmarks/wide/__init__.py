"""AutoLearner on 10^3 to 10^6 features: time, memory, what is found, and the dense form beside."""
