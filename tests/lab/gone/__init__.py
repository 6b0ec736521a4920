"""What real brokers log when they delete segments, and why: recorded lines."""
