"""What pages have in common: look, script, headers, rendering. They need nothing from the
internet.
"""
