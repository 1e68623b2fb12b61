"""The data user's service: invites owners, collects their reports, drives the algorithm,
publishes the model.
"""
