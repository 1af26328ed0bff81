"""docker-compose.yml and what goes with it hold; each way to break them is seen, and said in a clear word."""

from pathlib import Path

import pytest
from compose.__main__ import ROOT, check_password_is_asked_for, read
from compose.broken import Broken
from compose.interpolating import interpolate, read_env
from compose.promises import check_promises, check_redis_conf
from compose.reading import Compose, read_compose

ENV = {"MINUTEBOOK_REDIS_PASSWORD": "secret"}
FILES = ("docker-compose.yml", "config/redis.conf", "config/minutebook.toml", ".env.example")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what the box is made of, to break."""
    (tmp_path / "config").mkdir()
    for name in FILES:
        (tmp_path / name).write_text((ROOT / name).read_text())
    return tmp_path


def box(tree: Path, env: dict[str, str] = ENV) -> Compose:
    read_box = read_compose(tree / "docker-compose.yml", env)
    check_promises(read_box)
    return read_box


def broken(tree: Path, name: str, *changes: tuple[str, str]) -> None:
    """Replace the first of each text, which has to be there."""
    text = (tree / name).read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    (tree / name).write_text(text)


def test_the_box_s_files_hold() -> None:
    compose, stages, ignored = read(ROOT)
    assert list(compose.services) == ["redis", "api", "worker", "observer", "reflector", "digester", "dropper", "judge"]
    assert len(stages) == 2 and ignored


def test_the_settings_that_are_mounted_can_be_read() -> None:
    from minutebook.settings_loading import resolve

    file = ROOT / "config" / "minutebook.toml"
    found = resolve(global_file=file, project_file=None, environment={}, flags={}, trusted=False)
    assert found.settings.worker_concurrency == 4


def test_every_setting_in_a_comment_is_one(tmp_path: Path) -> None:
    """What a person takes the # from has to be read."""
    from minutebook.settings_loading import resolve

    lines = (ROOT / "config" / "minutebook.toml").read_text().splitlines()
    file = tmp_path / "minutebook.toml"
    file.write_text("".join(f"{line.removeprefix('# ')}\n" for line in lines if " = " in line))
    found = resolve(global_file=file, project_file=None, environment={}, flags={}, trusted=False)
    assert found.settings.model is not None and found.settings.serve_names


def test_a_password_that_was_not_set_is_asked_for() -> None:
    with pytest.raises(Broken, match="required variable MINUTEBOOK_REDIS_PASSWORD is missing a value: set it"):
        read_compose(ROOT / "docker-compose.yml", read_env(ROOT / ".env.example"))


def test_a_default_password_is_refused(tree: Path) -> None:
    broken(
        tree,
        "docker-compose.yml",
        ("MINUTEBOOK_REDIS_PASSWORD: ${MINUTEBOOK_REDIS_PASSWORD:?set it in .env, see .env.example}", "A: b"),
        ("REDISCLI_AUTH: ${MINUTEBOOK_REDIS_PASSWORD:?set it in .env, see .env.example}", "REDISCLI_AUTH: easy"),
    )
    with pytest.raises(Broken, match="starts without a password"):
        check_password_is_asked_for(tree)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  restart: unless-stopped", "  restrat: unless-stopped", "unknown key 'restrat'"),
        ("  restart: unless-stopped", "  restart: sometimes", "restart: must be one of"),
        ("networks: [store]", 'networks: [store]\n    ports: ["127.0.0.1:6379:6379"]', "only api may publish"),
        (":-127.0.0.1}", ":-0.0.0.0}", "listens for other machines"),
        ('"${BOX_ADDRESS:-127.0.0.1}:${BOX_PORT:-8765}:8765"', '"8765:8765"', "must be ADDRESS:PORT:PORT"),
        ('ports: ["${BOX_ADDRESS:-127.0.0.1}:${BOX_PORT:-8765}:8765"]', "", "api.ports: must publish one port"),
        ("${BOX_PORT:-8765}", "${BOX_PORT}", "the variable BOX_PORT is not set"),
        ("${BOX_PORT:-8765}", "${BOX_PORT:-8765", "not closed"),
        ("$${REDISCLI_AUTH:?", "${REDISCLI_AUTH:?", "required variable REDISCLI_AUTH is missing"),
        ("$${REDISCLI_AUTH:?has no password}", "$REDISCLI_AUTH", "the variable REDISCLI_AUTH is not set"),
        ("condition: service_healthy", "condition: service_well", "must be one of service_started"),
        ("redis: { condition: service_healthy }", "redis: { condition: service_started }", "must wait until redis"),
        ("redis: { condition: service_healthy }", "rediss: { condition: service_healthy }", "no service 'rediss'"),
        ("internal: true", "internal: false", "redis.networks: must all be internal"),
        ("networks: [store, outside]", "networks: [outside]", "does not reach redis"),
        ("networks: [store, outside]", "networks: [store, outsied]", "there is no network 'outsied'"),
        ("read_only: true", "read_only: false", "read_only: must be True"),
        ("cap_drop: [ALL]", "cap_drop: [NET_RAW]", "cap_drop: must be"),
        ('security_opt: ["no-new-privileges:true"]', "init: true", "security_opt: must be"),
        ("user: redis", "user: root", "user: must not be root"),
        ("user: redis", "init: false", "user: is missing"),
        ("max-size: 10m, ", "", "must have a max-size and a max-file"),
        ("stop_grace_period: 45s", "stop_grace_period: 10s", "must be longer than a job in hand"),
        ("stop_grace_period: 45s", "stop_grace_period: long", "must be a time such as 30s"),
        ("./config/redis.conf:", "./config/rediss.conf:", "./config/rediss.conf is no file"),
        ("- redis:/data", "- rediss:/data", "there is no volume 'rediss'"),
        ("minutebook.toml:/config/minutebook.toml:ro", "minutebook.toml:/config/minutebook.toml", "read-only"),
        ("test: [CMD, om,", "test: [CND, om,", "must begin with CMD or CMD-SHELL"),
        ("test: [CMD, om, worker, --check, /tmp/worker]", "", "healthcheck: test is missing"),
        ('MINUTEBOOK_SERVE_PORT: "8765"', "MINUTEBOOK_SERVE_PORT: 8765", "put 8765 into quotes"),
        ("profiles: [scaled]", "profiles: [scald]", "must be behind the profile scaled"),
        ("  worker: *worker", "  worker: { <<: *worker, profiles: [all] }", "must need no profile"),
        ("  worker: *worker", "  workers: *worker", "there is no service worker"),
        ("    image: redis:7.2-bookworm\n", "", "image is missing"),
        ("    user: redis", "    user: redis\n    user: redis", "a key stands twice"),
        ("    healthcheck:\n      test: [CMD-SHELL", "    x:\n      test: [CMD-SHELL", "unknown key 'x'"),
        ("services:", "services", "docker-compose.yml: "),
    ],
)
def test_what_is_wrong_in_the_file_is_said(tree: Path, old: str, new: str, said: str) -> None:
    broken(tree, "docker-compose.yml", (old, new))
    with pytest.raises(Broken) as error:
        box(tree)
    assert str(error.value).startswith("docker-compose.yml: ") and said in str(error.value)
    assert "\n" not in str(error.value)


def test_services_that_wait_for_each_other_are_no_box(tree: Path) -> None:
    broken(tree, "docker-compose.yml", ("user: redis", "user: redis\n    depends_on: { api: {} }"))
    with pytest.raises(Broken, match="wait for each other in a circle"):
        box(tree)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("appendonly yes", "appendonly no", "appendonly must be yes"),
        ("appendfsync everysec", "appendfsync no", "appendfsync must be everysec"),
        ("\naof-load-truncated no", "\naof-load-truncated yes", "aof-load-truncated must be no"),
        ("noeviction", "allkeys-lru", "maxmemory-policy must be noeviction"),
        ("port 6379", "requirepass easy", "a password stands in the file"),
    ],
)
def test_a_redis_that_would_forget_is_refused(tree: Path, old: str, new: str, said: str) -> None:
    broken(tree, "config/redis.conf", (old, new))
    with pytest.raises(Broken, match=said):
        check_redis_conf(tree / "config" / "redis.conf")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a $$ and $A", "a $ and 1"),
        ("${A}-${B:-two}-${C-three}", "1-two-"),
        ("${A:+yes}${B:+no}", "yes"),
        ("${B:-${A}}", "1"),
        ("${A:?never said}", "1"),
    ],
)
def test_variables_are_replaced_as_compose_does(text: str, wanted: str) -> None:
    assert interpolate({"key": [text]}, {"A": "1", "C": ""}) == {"key": [wanted]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("${B?gone}", "missing a value: gone"),
        ("${C:?empty}", "missing a value: empty"),
        ("cost: 5$", "write [$][$]"),
        ("${A/b}", "no way to write"),
        ("$B", "not set"),
    ],
)
def test_a_variable_that_cannot_be_replaced_is_said(text: str, said: str) -> None:
    with pytest.raises(Broken, match=said):
        interpolate({"key": text}, {"A": "1", "C": ""})
