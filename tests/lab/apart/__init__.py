"""Healthy nodes whose metadata.log.dir is none of their log.dirs, as real brokers leave them."""
