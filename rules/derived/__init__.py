"""Arithmetic that derives facts from observations and reference tables. No limits, no judgement."""
