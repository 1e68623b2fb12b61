"""The second server of sums over all owners, run by somebody other than the coordinator."""
