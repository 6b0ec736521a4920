"""Clusters of three real brokers whose producers noted what was acknowledged, and what a rescue gives."""
