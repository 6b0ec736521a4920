"""Log dirs made about equally full."""
