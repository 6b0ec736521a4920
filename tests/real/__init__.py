"""segmend beside real, live brokers (marked `broker`)."""
