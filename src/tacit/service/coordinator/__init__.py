"""The data user's service: invites owners, collects their reports, drives the algorithm, publishes
the model. What every owner calls is in owner_api, intake, sql and store. Only `tacit.cli`
may import it; it imports kinds and protocol, never device or helper.
"""
