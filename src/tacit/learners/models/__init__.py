"""Models as they are published: frozen values that travel, save and predict.

Everything else in `learners` may import them; they know no owner, site or peer.
"""
