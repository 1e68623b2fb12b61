"""Paper D: peers share private stumps without a server."""
