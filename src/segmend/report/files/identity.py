"""`meta.properties` and any other Java properties file."""

from __future__ import annotations

from segmend.formats import meta_properties
from segmend.report.fields import ShownField, short
from segmend.report.files import Rows

KIND = "properties"
NAMES = (meta_properties.FILE_NAME, ".properties")
FIELDS = (ShownField("key", "KEY", short, right=False), ShownField("value", "VALUE", short, right=False))


def rows(data: bytes, base_offset: int) -> Rows:  # noqa: ARG001
    """One row a property, in file order; a duplicate key is shown each time."""
    value, damages = meta_properties.parse(data)
    properties = (
        {"type": "property", "position": line.position, "key": line.key, "value": line.value}
        for line in value.properties.lines
        if line.key is not None
    )
    return properties, damages
