"""What money buys: AutoLearner by price, blind to prices, and what people do today."""
