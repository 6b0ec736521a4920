"""A directory brought back as TOPIC-N."""
