"""The second server of sums over all owners, run by somebody other than the coordinator: what it
has released is kept for ever, and a question is answered once. Only `tacit.cli` may import it; it
imports protocol, never coordinator or device.
"""
