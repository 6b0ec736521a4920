"""Topics with segments in remote storage (KIP-405), hurt, and what real brokers serve of them."""
