"""Protobuf: messages of one type, or as a schema registry's serializers write them. Needs protobuf.

Schemas are descriptor sets, as `protoc --include_imports --descriptor_set_out=FILE` makes them. The text is
Protobuf's JSON, with the names of the fields as they are in the schema.
"""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message, message_factory
from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pool import DescriptorPool

from segmend.errors import UsageError
from segmend.frozen import frozen
from segmend.logdir import disk
from segmend.rescue.confluent import message_indexes, schema_id
from segmend.rescue.decoders import FAULTS, Decoded, failed, read_schema, too_large

_ADVICE = "protoc --include_imports --descriptor_set_out=FILE"


@frozen
class Schema:
    """A descriptor set: its types, and those of its last file, which is what was asked for."""

    pool: DescriptorPool | None = None
    main: FileDescriptor | None = None
    reason: str = ""


def make(path: str | None) -> Protobuf:
    """`FILE#package.Message` or a directory; raises `SegmendError` for a schema that cannot be used."""
    if path is None:
        raise UsageError(
            "--decode protobuf needs a schema: protobuf:FILE#package.Message, "
            "or protobuf:DIRECTORY with <id>.desc in it"
        )
    if disk.path_type(path) == "dir":
        return Protobuf(path, None, None)
    file, _, name = path.partition("#")
    schema = _schema(file)
    if schema.reason:
        raise UsageError(f"{file}: {schema.reason}")
    assert schema.pool is not None
    assert schema.main is not None
    try:
        kind = schema.pool.FindMessageTypeByName(name)
    except KeyError:
        names = ", ".join(sorted(each.full_name for each in schema.main.message_types_by_name.values()))
        raise UsageError(f"--decode protobuf:{file}#MESSAGE: it has {names or 'no message'}") from None
    return Protobuf(file, schema, message_factory.GetMessageClass(kind))


class Protobuf:
    """Messages of one type, or, with a directory, of the one that each names."""

    def __init__(self, path: str, schema: Schema | None, one: type[message.Message] | None) -> None:
        self._path, self._one = path, one
        self._schemas: dict[int, Schema] = {}
        self._pool = None if schema is None else schema.pool

    def decode(self, data: bytes) -> Decoded:
        if large := too_large(data):
            return large
        if self._one is not None:
            return _decoded(data, self._one, self._pool, None)
        number = schema_id(data)
        told = None if number is None else message_indexes(data)
        if number is None or told is None:
            return Decoded(schema_id=number, reason="no header of a schema registry")
        schema, (indexes, begin) = self._of(number), told
        if schema.reason:
            return Decoded(schema_id=number, reason=schema.reason)
        kind = _message(schema.main, indexes)
        if kind is None:
            return Decoded(schema_id=number, reason=f"schema {number} has no message {list(indexes)}")
        return _decoded(data[begin:], message_factory.GetMessageClass(kind), schema.pool, number)

    def schema(self) -> None:
        """It is in its file."""

    def _of(self, number: int) -> Schema:
        if number not in self._schemas:
            path = f"{self._path}/{number}.desc"
            missing = Schema(reason=f"schema {number} is not in {self._path} as {number}.desc ({_ADVICE})")
            self._schemas[number] = missing if disk.path_type(path) is None else _schema(path)
        return self._schemas[number]


def _schema(path: str) -> Schema:
    """Raises `SegmendError` if it cannot be read."""
    files, pool = descriptor_pb2.FileDescriptorSet(), descriptor_pool.DescriptorPool()
    try:
        files.ParseFromString(read_schema(path))
        for each in files.file:
            pool.Add(each)
        return Schema(pool=pool, main=pool.FindFileByName(files.file[-1].name))
    except (*FAULTS, message.Error) as error:
        return Schema(reason=f"is no descriptor set ({_ADVICE}): {failed(error).reason}")


def _message(main: FileDescriptor, indexes: tuple[int, ...]) -> Descriptor | None:
    """The message of a file by its place in it, and in the message around it; None if there is none."""
    within: Sequence[Descriptor] = [*main.message_types_by_name.values()]
    reached = None
    for index in indexes:
        if not 0 <= index < len(within):
            return None
        reached = within[index]
        within = reached.nested_types
    return reached


def _decoded(
    data: bytes, kind: type[message.Message], pool: DescriptorPool | None, number: int | None
) -> Decoded:
    try:
        parsed = kind()
        parsed.ParseFromString(data)
        known = parsed.ByteSize()
        parsed.DiscardUnknownFields()
        if parsed.ByteSize() != known:
            return Decoded(schema_id=number, reason="has fields that the schema has not")
        text = json_format.MessageToJson(
            parsed, preserving_proto_field_name=True, indent=None, ensure_ascii=False, descriptor_pool=pool
        )
        text.encode()
    except (*FAULTS, message.Error, json_format.Error) as error:
        return failed(error, number)
    return Decoded(text=text, schema_id=number)
