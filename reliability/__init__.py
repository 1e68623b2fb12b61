"""What the owner's side promises, tried hard: kills, hostile questions, damaged reports, planted
values.
"""
