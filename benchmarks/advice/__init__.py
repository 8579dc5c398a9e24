"""The evidence for `kh.budget_curve`: do its errors cover, is its budget enough?"""
