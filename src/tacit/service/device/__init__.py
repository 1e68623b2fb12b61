"""The owner's side of the network: fetches questions, passes them to the gate, posts what the gate
returns, and shows the owner what would leave and what has left. Only `tacit.cli` may import it; it
imports kinds and protocol, never coordinator or helper.
"""
