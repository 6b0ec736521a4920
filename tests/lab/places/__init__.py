"""Places that fail: log dirs that the broker's user may not use, links, and odd entries of `log.dirs`."""
