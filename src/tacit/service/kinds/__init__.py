"""Kinds of campaigns, one file each: terms, campaign file, run, publication, wording."""
