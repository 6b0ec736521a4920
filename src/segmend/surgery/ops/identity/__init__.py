"""meta.properties of a set of volumes."""

HELP = "check and mend meta.properties of restored, moved or cloned volumes"
