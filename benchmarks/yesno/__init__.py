"""Yes or no: probabilities of YesNoLearner beside logistic regression."""
