"""What `segmend explain startup|retention|compaction` tell: the rules of brokers, asked about these dirs."""
