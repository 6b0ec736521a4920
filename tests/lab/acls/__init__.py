"""Nodes whose authorizer (KIP-801) lets the broker itself in, or not."""
