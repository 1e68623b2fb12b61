"""What both ends of a campaign over the network agree on: its terms, its requests, its published
model.
"""
