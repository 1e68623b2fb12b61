"""Campaigns over a network: three parties that do not trust each other, and what they agree on.

`protocol` and `kinds` are common; `coordinator`, `device` and `helper` never import one another.
"""
