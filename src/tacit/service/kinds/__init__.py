"""Kinds of campaigns, one file each: terms, campaign file, run, publication, words; what all have
is in kind and campaign_file, and registry finds them. Coordinator and device may import it and
know no kind by name; it imports protocol alone of the service.
"""
