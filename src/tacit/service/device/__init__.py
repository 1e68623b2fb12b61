"""The owner's side of the network: fetches questions, passes them to the gate, posts what the
gate returns.
"""
