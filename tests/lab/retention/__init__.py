"""Retention on real brokers: log dirs drawn by a seed, what went of them, when and by which rule."""
