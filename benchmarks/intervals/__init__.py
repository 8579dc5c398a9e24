"""Prediction intervals: do they hold, how wide are they, and what do others do?"""
