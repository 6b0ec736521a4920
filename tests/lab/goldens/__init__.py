"""The golden directories, healthy as they are, under every later release, as root and as a user."""
