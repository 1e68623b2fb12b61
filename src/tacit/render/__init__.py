"""From results to pages: a document, its charts, and their forms as HTML, Markdown and pictures.
What is rendered needs nothing from the internet.

Every room but `wire` and `_util` may import it; it imports `_util` alone.
"""
