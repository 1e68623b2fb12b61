"""Models as they are published: frozen values that travel, save and predict."""
