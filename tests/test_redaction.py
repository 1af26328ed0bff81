"""Secrets are gone before anything is stored; what only looks like one stays as it was. 003-088: exact but for that."""

import json
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook import assigned_secrets, redaction
from minutebook.records import Part, SourceEntry
from minutebook.redaction import PLACEHOLDER, Redactor, found

REDACTOR = Redactor(b"the store's own key")

# Put together from pieces, so that no scanner takes this file for a leak.
MIXED = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY" + "zA1bC3dE5fG7hJ9kL2mN4pQ6rS8tU0vW"
HEX = "3f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c"
KEY_LINES = [MIXED[:64], MIXED[::-1][:64], MIXED[3:40] + "=="]
JWT = "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0." + MIXED[:43]


def pem(kind: str, newline: str = "\n") -> str:
    lines = [f"-----BEGIN {kind}PRIVATE" + " KEY-----", *KEY_LINES, f"-----END {kind}PRIVATE" + " KEY-----"]
    return newline.join(lines)


TOKENS: list[tuple[str, str]] = [
    *[("aws-access-key", "A" + c + "IA" + "ZQ3DHE7KLM2NPRST") for c in "KS"],
    *[("github-token", f"gh{c}_" + MIXED[:36]) for c in "pousr"],
    ("github-token", "github" + "_pat_" + MIXED[:22] + "_" + MIXED[:59]),
    ("minutebook-token", "m" + "b_0123456789ab_" + (MIXED * 3)[:40] + "-_x"),
    *[("gitlab-token", "gl" + "pat-" + first + MIXED[:15]) for first in (MIXED[15:20], "aB-3_")],
    ("openai-key", "sk" + "-" + MIXED[:20] + "T3Blbk" + "FJ" + MIXED[20:40]),
    ("openai-key", "sk" + "-proj-" + MIXED[:30] + "_" + MIXED[30:60]),
    ("anthropic-key", "sk" + "-ant-api03-" + MIXED + "-" + MIXED[:20] + "AA"),
    *[("slack-token", f"xo{c}-" + "123456789012-" + MIXED[:24]) for c in ("xb", "xp", "xa", "xr", "xs")],
    ("google-key", "AI" + "za" + MIXED[:35]),
    ("google-token", "ya" + "29." + MIXED),
    ("stripe-key", "sk" + "_live_" + MIXED[:24]),
    ("stripe-key", "rk" + "_live_" + MIXED[:24]),
    ("stripe-key", "wh" + "sec_" + MIXED[:32]),
    ("private-key", pem("")),
    ("private-key", pem("RSA ")),
    ("private-key", pem("OPENSSH ")),
    ("private-key", pem("EC ", "\\n")),
    ("private-key", pem("ENCRYPTED ", "\\\\n")),
    ("jwt", JWT),
    ("npm-token", "np" + "m_" + MIXED[:36]),
    ("pypi-token", "py" + "pi-AgEIcHlwaS5vcmc" + MIXED),
    ("huggingface-token", "h" + "f_" + MIXED[:34]),
    ("sendgrid-key", "S" + "G." + MIXED[:22] + "." + MIXED[:43]),
]
"""What is known by its own looks, whatever stands around it."""

VALUE = "q7Rk2m" + "XtLw9z"
NAMED: list[tuple[str, str, str]] = [
    ("aws-secret-key", "aws_secret_access_key = ", MIXED[:39] + "/"),
    ("aws-secret-key", "AWS Secret Access Key [None]: ", MIXED[:39] + "+"),
    ("aws-secret-key", "ASIA" + "ZQ3DHE7KLM2NPRST,", MIXED[:40]),
    ("token", "Authorization: Bearer ", VALUE),
    ("token", "curl -H 'Authorization: token ", VALUE),
    ("token", '"Authorization": "Bearer ', VALUE),
    ("token", "bearer ", MIXED[:30]),
    ("basic-auth", "Authorization: Basic ", "dXNlcjpwYXNzd29yZA=="),
    ("password", "postgres://app:", "tr0ub4dor"),
    ("password", "https://deploy:", "p@ss:w0rd"),
    ("password", "curl -u admin:", "hunter2!"),
    ("slack-webhook", "https://hooks." + "slack.com/services/", "T024BE7LD/B0ABCDEF1/" + MIXED[:24]),
    ("telegram-token", "https://api." + "telegram.org/bot", "123456789:AA" + MIXED[:33]),
    ("password", "PASSWORD=", "letmein"),
    ("password", "export DB_PASSWORD=", "p@ss(w0rd)"),
    ("password", "export DB_PASSWORD='", "s3cr3t pass"[:6] + "xyz"),
    ("password", "POSTGRES_PASSWORD: ", "workflow"),
    ("password", "SMTP_PASS=", "opensesame"),
    ("password", "Password=", "Pa55word!"),
    ("password", 'password: str = "', "opensesame"),
    ("password", '"password": "', "opensesame"),
    ("password", "password: ", "s3cr3t-99"),
    ("password", "--password ", "s3cr3t-99"),
    ("password", "--password=", "opensesame"),
    ("password", "password=", "hunter2Secret99"),
    ("password", "Password: ", "MyPassw0rd2024"),
    ("password", '["--password", "', "opensesame"),
    ("token", "API_KEY=", VALUE),
    ("token", "export STRIPE_SECRET_KEY=", VALUE),
    ("token", "MY_APP_TOKEN=", "abcdef"),
    ("token", '"api_key": "', VALUE),
    ("token", '"apiKey":"', VALUE),
    ("token", "'x-api-key': '", VALUE),
    ("token", "api-key: ", VALUE),
    ("token", "client_secret = '", VALUE),
    ("token", 'const accessToken = "', VALUE),
    ("token", 'os.environ["GITHUB_TOKEN"] = "', VALUE),
    ("token", "?access_token=", VALUE),
    ("token", "--api-key ", VALUE),
    ("token", "//registry.example.org/:_authToken=", VALUE),
    ("token", "AccountKey=", MIXED[:60] + "=="),
    ("token", "PRIVATE_KEY=", "0x" + HEX),
    ("token", "CREDENTIALS=", VALUE),
    ("token", 'secret => "', VALUE),
    ("token", "token := `", VALUE),
    ("token", "Your API key: ", VALUE),
]
"""What is known by what stands before it."""

CLOSING = {"'": "'", '"': '"', "`": "`"}

HARMLESS = [
    "max_tokens: 4096",
    '{"max_output_tokens":50000}',
    "usage: input_tokens=12345678 output_tokens=98765432",
    "token = parse_token(x)",
    "token = await getToken2(request)",
    "password = self.password1",
    "password = sha256_password2",
    "password = password1",
    "api_key=settings.s3_api_key2",
    "token: str",
    "def login(token: str, password: Optional[str] = None) -> bool:",
    "interface A { apiKey: string; password?: string }",
    "const token = tokens[index2000]",
    "token = next_token_2024",
    "API_KEY=$FOO_API_KEY",
    "API_KEY=${FOO_API_KEY}",
    'API_KEY="$(pass show api/key)"',
    "API_KEY=<your-key>",
    'api_key: "YOUR_API_KEY"',
    "OPENAI_API_KEY=sk-...",
    "OPENAI_API_KEY=sk-" + "x" * 40,
    "GITHUB_TOKEN=ghp_" + "x" * 36,
    "Token: gho_" + "*" * 36,
    "password=xxxxxxxx",
    'password: "********"',
    "password: changeme",
    'password: "{{.Env.MACOS_SIGN_PASSWORD}}"',
    "apiKey: process.env.OPENAI_API_KEY_2",
    'api_key = os.environ["OPENAI_API_KEY_2"]',
    "api_key=os.getenv('KEY12345')",
    "api_key: None, secret: null, token: true, password: false",
    "if password == other.password2:",
    "--password string   the password to use",
    "pass --token to the command, or --api-key <key>",
    "token_type: bearer_mac_2",
    '"access_token_expires_at": "2024-01-01T00:00:00Z2"',
    "secretName: my-db-secret-1",
    'secret: "db-connection"',
    "PASSWORD_FILE=/run/secrets/db1",
    "TOKEN_PATH=~/.config/token1",
    "credential: /etc/keys/id_rsa2",
    "SSH key: see the docs",
    "primary_key: user_id_2024",
    "key: value12345",
    "keyboard = 'qwerty12345'",
    "tokenizer: cl100k_base",
    "PASS: test_login_2024",
    "pwd = process.cwd();",
    "PWD=/home/u/project1",
    "bearer authentication-is-required",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    'request.Header.Set("Authorization", "Bearer "+token2)',
    "http://localhost:3000/@vite/client",
    "git clone git@github.com:org/repo.git",
    "https://user:password@example.org/",
    "https://user:${PASS}@example.org/",
    "https://unpkg.com/react@18.2.0/umd",
    "docker run -u 1000:1000 image",
    "task-management-for-everything-else-2024",
    "risk-3f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c6d7e",
    'if "-----BEGIN RSA PRIVATE' + ' KEY-----" in text: return',
    'startswith("-----BEGIN PRIVATE' + ' KEY-----") and endswith("-----END PRIVATE' + ' KEY-----")',
    "sha512-8CDEXpvrrUeyJDjSKXscaC4M6sZzvqY/RNyygpS5ldVSFrRndG4hp",
    "toolu_01A09q90qw90lq917835lq9 d4f0c3a2-1b2c-4d5e-8f90-123456789abc",
    "Token: '#d0d0d0'",
    r"_core_token = r'(?:[%s]+|%s)'",
]


@pytest.mark.parametrize(("kind", "secret"), TOKENS, ids=[f"{kind}-{i}" for i, (kind, _) in enumerate(TOKENS)])
@pytest.mark.parametrize("around", [("", ""), ("see ", " here"), ("x", " "), ('{"a":"\\n', '\\n"}'), ("TOKEN=", "\n")])
def test_a_token_is_known_by_its_looks(kind: str, secret: str, around: tuple[str, str]) -> None:
    text = secret.join(around)
    assert [hit[0] for hit in found(text)] == [kind]
    redacted = REDACTOR.redact(text)
    assert redacted == f"{around[0]}{PLACEHOLDER.search(redacted)[0]}{around[1]}"  # type: ignore[index]


@pytest.mark.parametrize(("kind", "before", "value"), NAMED, ids=[name.strip() for _, name, _ in NAMED])
def test_a_value_is_known_by_its_name(kind: str, before: str, value: str) -> None:
    after = CLOSING.get(before[-1], "@host/x" if "://app" in before or "://dep" in before else "")
    text = f"first line\n{before}{value}{after}\nlast line"
    redacted = REDACTOR.redact(text)
    assert value not in redacted
    assert (kind, text.index(before) + len(before), text.index(before) + len(before) + len(value)) in found(text)
    assert redacted.startswith("first line\n") and redacted.endswith(f"{after}\nlast line")


@pytest.mark.parametrize(("kind", "before", "value"), NAMED, ids=[name.strip() for _, name, _ in NAMED])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_value_is_found_inside_json(kind: str, before: str, value: str, depth: int) -> None:
    """Arguments of a tool call are JSON text, and may hold JSON again."""
    after = CLOSING.get(before[-1], "@host/x" if "://app" in before or "://dep" in before else "")
    text = plain = f"first line\n{before}{value}{after}\nlast line"
    for _ in range(depth):
        text = json.dumps({"command": text})
    redacted = REDACTOR.redact(text)
    assert kind in [hit[0] for hit in found(text)]
    for _ in range(depth):
        redacted = json.loads(redacted)["command"]
    assert redacted == REDACTOR.redact(plain)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    for whole in (text, f"a\n{text}\nb", f"x = 1; {text}", json.dumps({"new_string": f"\n{text}\n"})):
        assert REDACTOR.redact(whole) == whole


def test_a_key_cut_off_before_its_end_is_still_a_secret() -> None:
    redacted = REDACTOR.redact("cat id_rsa\n" + pem("RSA ").rsplit("\n", 1)[0] + "\n[output truncated]")
    assert not any(line in redacted for line in KEY_LINES) and redacted.endswith("\n[output truncated]")


def test_a_quote_cut_off_before_its_end_is_still_a_secret() -> None:
    assert VALUE not in REDACTOR.redact(f'{{"api_key": "{VALUE}')


def test_a_value_with_quotes_inside_goes_as_a_whole() -> None:
    text = json.dumps({"password": 'open"ses\\ame'})
    assert json.loads(REDACTOR.redact(text))["password"] == REDACTOR.redact(text).split('"')[3]


def test_the_same_secret_has_the_same_placeholder_in_one_store_only() -> None:
    token = "gh" + "p_" + MIXED[:36]
    first, second, third = (REDACTOR.redact(text) for text in (token, f"TOKEN={token};", f'{{"a":"{token}"}}'))
    assert first in second and first in third
    others = {Redactor(bytes([n])).redact(token) for n in range(16)}
    assert len(others) > 1
    assert REDACTOR.redact(pem("")) == REDACTOR.redact(pem("", "\\n"))


def test_a_better_type_wins_over_the_name() -> None:
    for before in ("Authorization: Bearer ", "TOKEN=", '"token": "', "--token "):
        assert [hit[0] for hit in found(before + JWT)] == ["jwt"]


def test_redact_entry_changes_text_only() -> None:
    part = Part(kind="tool_call", text=f'{{"api_key": "{VALUE}"}}', name="TOKEN=abcdef12", call_id="c")
    entry = SourceEntry(id="PASSWORD=abcdef12", role="assistant", parts=(Part(kind="text", text="hi"), part))
    redacted = REDACTOR.redact_entry(entry)
    assert VALUE not in redacted.parts[1].text and redacted.parts[0] == entry.parts[0]
    assert (redacted.id, redacted.parts[1].name, redacted.parts[1].call_id) == (entry.id, part.name, "c")
    harmless = SourceEntry(id="1", role="user", parts=(Part(kind="text", text="hello there, token"),))
    assert REDACTOR.redact_entry(harmless) is harmless


PIECES = [
    *(secret for _, secret in TOKENS),
    *(before + value for _, before, value in NAMED),
    *HARMLESS,
    *("password", "token", "=", ": ", '"', "'", '\\"', "\\n", "\n", " ", "@", "://", "sk-", "eyJ", "--", "[secret:"),
    *("[secret:jwt:12ab]", "\ud800", "\x00", "\u0130", "é", "x", "(", ")", "[", "]", ";", ",", "-----"),
]
mixtures = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=12).map("".join)


@given(mixtures)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = REDACTOR.redact(text)
    assert REDACTOR.redact(once) == once


@given(mixtures | st.text(alphabet=st.characters(codec=None)))
def test_hits_are_in_order_apart_and_inside(text: str) -> None:
    end = 0
    for _, start, stop in found(text):
        assert end <= start < stop <= len(text)
        end = stop


@given(st.text(alphabet=string.ascii_letters + " .,\n", max_size=200))
def test_prose_comes_back_identical(text: str) -> None:
    assert REDACTOR.redact(text) == text


@given(st.sampled_from(TOKENS), st.text(max_size=40), st.text(max_size=40))
def test_a_token_in_any_surrounding_is_gone(token: tuple[str, str], before: str, after: str) -> None:
    assert token[1] not in REDACTOR.redact(before + token[1] + after)


@given(st.sampled_from(NAMED), mixtures, mixtures)
def test_a_named_value_between_any_lines_is_gone(named: tuple[str, str, str], before: str, after: str) -> None:
    _, name, value = named
    closing = CLOSING.get(name[-1], "@host" if "://app" in name or "://dep" in name else "")
    text = f"{before}\n{name}{value}{closing}\n{after}"
    redacted = REDACTOR.redact(text)
    assert redacted.count(value) <= text.count(value) - 1


def test_lengths_do_not_shift_under_lower_case() -> None:
    text = "\u0130" * 50 + f" API_KEY={VALUE}\n"
    assert [text[a:b] for _, a, b in found(text)] == [VALUE]


ADVERSARIAL = [
    "a",
    "-",
    "-----BEGIN PRIVATE" + " KEY-----",
    "-----BEGIN PRIVATE" + " KEY-----" + "A" * 20,
    "-----BEGIN ",
    "eyJ",
    "eyJaaaaaaaa.",
    "sk-",
    "sk-ant-",
    "glpat-",
    "mb_0123456789ab_",
    "://",
    "://a:",
    "://a:b",
    "token=",
    'token="',
    "token: ",
    'password=\\"',
    "secret_",
    "bearer ",
    "authorization:",
    "curl -u a",
    "curl ",
    "key\\\\\\\\\\\\\\\\",
    "[secret:",
    "[secret:jwt:12ab]",
    "SG.aaaaaaaaaaaaaaaaaaaaaa",
    "token" + " " * 15,
    "--token ",
    'token="\\\\"',
    "TOKEN=",
    "-----BEGIN PRIVATE" + " KEY-----\\n" + MIXED + "\\" * 2000,
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ADVERSARIAL)
def test_hostile_repetition_is_finished(piece: str) -> None:
    """Work must grow with the length alone; a quadratic rule would not end within the guard."""
    text = piece * (100_000 // len(piece))
    REDACTOR.redact(text)
    REDACTOR.redact(text + "\n" + text.upper())


@pytest.mark.parametrize(
    "piece", ["token=", 'token="', "token: ", 'password=\\"', "secret_key=a=b ", "--token ", "api key: "]
)
def test_work_grows_with_the_length_alone(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, not timed: characters judged for twice the text are about twice as many."""
    judged = 0
    inner = assigned_secrets._is_possible

    def counting(value: str, name: str) -> bool:
        nonlocal judged
        judged += len(value)
        return inner(value, name)

    monkeypatch.setattr(assigned_secrets, "_is_possible", counting)
    counts = []
    for size in (4_000, 8_000):
        judged = 0
        redaction._scanned(piece * size)
        counts.append(judged)
    assert counts[0] > 0 and counts[1] <= 2.5 * counts[0]


@pytest.mark.timeout(60)
def test_a_line_of_ten_megabytes_loses_its_one_secret() -> None:
    token = "gh" + "p_" + MIXED[:36]
    half = ("The quick brown fox = jumps: over " * 150_000)[:5_000_000]
    assert token not in REDACTOR.redact(half + token + half)
    assert REDACTOR.redact(half + half) == half + half


def string_values(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for item in inner for text in string_values(item)]


def test_real_sessions_are_hardly_touched(sessions_dir: Path) -> None:
    """Read by hand (docs/redaction.md): one made-up token in a test of a redactor, and nothing else."""
    hits = []
    for path in sessions_dir.glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
            try:
                texts = string_values(json.loads(line))
            except ValueError:
                continue
            hits += [text[start:end] for text in texts for _, start, end in found(text)]
    assert len(hits) <= 6, sorted(set(hits))
