"""Reads a store's keys on a Redis server with redis-py alone: no code of the store, no script."""

import zlib
from collections.abc import Callable
from typing import Any


def text(value: bytes) -> str:
    return value.decode("utf-8", "surrogatepass")


def body(mark: bytes, value: bytes) -> str:
    return text(zlib.decompress(value) if mark == b"1" else value)


def cut(value: bytes, *sizes: bytes) -> list[str]:
    """Texts that stand one after the other; the last takes the rest."""
    parts = []
    for size in sizes:
        parts.append(text(value[: int(size)]))
        value = value[int(size) :]
    return [*parts, text(value)]


class BehindRedis:
    """contract_suite.Behind on a Redis database. client: makes a redis.Redis."""

    def __init__(self, client: Callable[[], Any], prefix: bytes = b"mb:") -> None:
        self.client = client
        self.prefix = prefix

    def fields(self, key: bytes) -> dict[bytes, bytes]:
        with self.client() as client:
            found: dict[bytes, bytes] = client.hgetall(self.prefix + key)
        return found

    def items(self, stream: str) -> list[tuple[int, str, str, int, int, str]]:
        name = stream.encode("utf-8", "surrogatepass")
        rows = []
        for place, value in self.fields(b"i:" + name).items():
            head, _, rest = value.partition(b"\n")
            position, weight, total, id_size, kind_size, mark = head.split()
            assert place == position
            middle = int(id_size) + int(kind_size)
            id, kind = cut(rest[:middle], id_size)
            rows.append((int(position), id, kind, int(weight), int(total), body(mark, rest[middle:])))
        ids = {row[1]: row[0] for row in rows}
        assert ids == {text(id): int(place) for id, place in self.fields(b"n:" + name).items()}
        assert int(self.fields(b"s:" + name).get(b"l", 0)) == len(rows)
        return sorted(rows)

    def marks(self, stream: str) -> dict[str, int]:
        fields = self.fields(b"s:" + stream.encode("utf-8", "surrogatepass"))
        return {text(name[1:]): int(value) for name, value in fields.items() if name.startswith(b"m")}

    def document(self, collection: str, key: str) -> tuple[int, str] | None:
        held = self.fields(b"d:" + collection.encode("utf-8", "surrogatepass"))
        value = held.get(key.encode("utf-8", "surrogatepass"))
        if value is None:
            return None
        version, _, rest = value.partition(b" ")
        return int(version), body(rest[:1], rest[1:])

    def dirty_keys(self) -> set[str]:
        with self.client() as client:
            return {text(key) for key in client.zrange(self.prefix + b"dirty", 0, -1)}

    def jobs(self) -> set[tuple[str, str, str, str, int]]:
        found = set()
        with self.client() as client:
            for job, row in self.fields(b"jobs").items():
                head, _, names = job.partition(b"\n")
                role, lineage, branch = cut(names, *head.split())
                words = row.partition(b"\n")[0].split()
                found.add((role, lineage, branch, {b"p": "pending", b"r": "running"}[words[0]], int(words[5])))
                key = self.prefix + b"ready:" + role.encode("utf-8", "surrogatepass")
                ready_at = words[1] if words[0] == b"p" else words[2]
                assert client.zscore(key, words[8].zfill(16) + job) == float(ready_at)
        return found
