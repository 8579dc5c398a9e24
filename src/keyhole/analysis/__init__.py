"""Analysis of a stream as a whole: hindsight and regret, advice on budgets, diagnosis, theory."""
