"""URLs of Redis stores, taken apart."""

import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from contract_values import items
from redis_server import RedisServer, free_port

from minutebook.errors import BadInput, StoreError
from minutebook.store.opening import open_store

pytest.importorskip("redis")

from minutebook.store.redis_address import Address, address_of, without_passwords


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("redis://localhost", {"hosts": (("localhost", 6379),), "database": 0, "prefix": "mb:"}),
        ("redis://h:7000/3", {"hosts": (("h", 7000),), "database": 3}),
        ("redis://[::1]:7000", {"hosts": (("::1", 7000),)}),
        ("redis://h/?db=4", {"database": 4}),
        ("redis://h/0?prefix=acme", {"prefix": "acme:"}),
        ("redis://h/0?prefix=acme:", {"prefix": "acme:"}),
        ("redis://:p%40ss@h", {"username": None, "password": "p@ss", "url": "redis://h"}),
        ("redis://me:p@h/1", {"username": "me", "password": "p", "url": "redis://me@h/1"}),
        ("redis://me@h", {"username": "me", "password": None}),
        ("redis://h", {"tls": None}),
        ("rediss://h", {"tls": {}}),
        ("rediss://h?ssl_ca_certs=/ca.pem", {"tls": {"ssl_ca_certs": "/ca.pem"}}),
        ("unix:///run/redis.sock?db=2", {"path": "/run/redis.sock", "database": 2, "hosts": ()}),
        ("unix://:p@/run/redis.sock", {"path": "/run/redis.sock", "password": "p", "url": "unix:///run/redis.sock"}),
        (
            "redis+sentinel://:p@a:1,b/main/5?sentinel_password=q&prefix=x",
            {
                "hosts": (("a", 1), ("b", 26379)),
                "service": "main",
                "database": 5,
                "password": "p",
                "sentinel": {"password": "q"},
                "url": "redis+sentinel://a:1,b/main/5?prefix=x",
            },
        ),
        ("rediss+sentinel://a/main", {"tls": {}, "service": "main"}),
    ],
)
def test_parts_of_a_url(url: str, wanted: dict[str, Any]) -> None:
    address = address_of(url)
    assert {name: getattr(address, name) for name in wanted} == wanted


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis://", "no host"),
        ("redis://:s3cret@", "no host"),
        ("redis://h:port/0", "[Pp]ort"),
        ("redis://:s3cret@h/x", "database 'x' is no number"),
        ("redis://h/-1", "no number"),
        ("redis://h/1/2", "use redis://host:port/database"),
        ("redis://:s3cret@h?colour=red", "unknown option 'colour'; known: db, prefix"),
        ("redis://h?prefix=a:b", "prefix 'a:b': use 1 to 64 letters"),
        ("redis://h?prefix=", "prefix ''"),
        ("redis://h?ssl_ca_certs=x", "'ssl_ca_certs' is for rediss://"),
        ("unix://run/redis.sock", "a socket is unix:///path.sock"),
        ("redis+sentinel://:s3cret@a:1", "use redis.sentinel://host:port,host:port/service/database"),
        ("redis+sentinel://a:1/main/0/1", "use redis.sentinel://"),
    ],
)
def test_a_bad_url_is_told_without_its_password(url: str, said: str) -> None:
    with pytest.raises(BadInput, match=said) as caught:
        open_store(url)
    assert "s3cret" not in str(caught.value)
    assert str(caught.value).startswith("store '")


def test_an_unknown_scheme_is_told_without_its_password() -> None:
    with pytest.raises(BadInput, match=r"^store 'reddis://h/0': unknown kind 'reddis'; use a path, .* or redis://"):
        open_store("reddis://me:s3cret@h/0")


@pytest.mark.parametrize(
    "secret", ["s3cret", "a/s3cret", "a@s3cret", "a?s3cret", "a#s3cret", "%40s3cret", "s3cret/b@c"]
)
def test_no_password_is_shown(secret: str) -> None:
    for url in (f"redis://me:{secret}@h/0", f"redis://:{secret}@h", f"redis+sentinel://h/m?sentinel_password={secret}"):
        assert "s3cret" not in without_passwords(url)
        with suppress(BadInput):
            assert "s3cret" not in repr(address_of(url))
    for url in (f"redis://me:{secret}@h/0?x=y", f"reddis://:{secret}@h/0", f"unix://x:{secret}@"):
        with pytest.raises(BadInput) as caught:
            open_store(url)
        assert "s3cret" not in str(caught.value)


def test_a_socket_file(new_redis_server: Callable[..., RedisServer], tmp_path: Path) -> None:
    path = tmp_path / "r.sock"
    new_redis_server(["--unixsocket", str(path)])
    store = open_store(f"unix://{path}?db=3")
    store.append("s", items("a"))
    assert store.url == f"unix://{path}?db=3"
    assert open_store(store.url, create=False).tip("s").length == 1
    store.close()


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 that signs itself."""
    if not shutil.which("openssl"):
        pytest.skip("no openssl")
    make = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    command = ["openssl", *make.split(), "-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
    subprocess.run(command, check=True, capture_output=True)
    return tmp_path


def test_tls(new_redis_server: Callable[..., RedisServer], certificates: Path) -> None:
    port, cert = free_port(), certificates / "cert.pem"
    files = [
        "--tls-cert-file",
        str(cert),
        "--tls-key-file",
        str(certificates / "key.pem"),
        "--tls-ca-cert-file",
        str(cert),
    ]
    new_redis_server(["--tls-port", str(port), *files, "--tls-auth-clients", "no"])
    store = open_store(f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={cert}")
    store.append("s", items("a"))
    assert store.tip("s").length == 1
    store.close()
    with pytest.raises(StoreError, match=r"CERTIFICATE_VERIFY_FAILED|certificate verify failed"):
        open_store(f"rediss://127.0.0.1:{port}/0")


def test_an_address_is_a_value() -> None:
    assert address_of("redis://h/1") == Address("redis://h/1", "mb:", 1, (("h", 6379),))
