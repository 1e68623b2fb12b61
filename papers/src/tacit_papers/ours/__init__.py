"""Our own comparisons: ahead of the papers, break-even, hospitals, gradient trees, plans."""
