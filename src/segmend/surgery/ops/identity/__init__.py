"""meta.properties of a set of volumes."""
