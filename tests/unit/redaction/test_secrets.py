"""What is masked, what is not, and where marks are afterwards."""

import importlib.util
import re
import uuid
from hashlib import sha1, sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prong.model.search import Passage
from prong.redaction.secrets import KNOWN, mask, mask_passage, may_be_in
from tests.property.damage import examples

# Put together here, so that no scanner takes this file for a leak.
_RANDOM = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC2"
_LONG = _RANDOM * 3
_BODY = "\n".join([_RANDOM + _RANDOM] * 3)
SECRETS = {
    "anthropic key": ["sk-ant-" + "api03-" + _LONG],
    "openai key": ["sk-" + "proj-" + _LONG, "sk-" + _RANDOM + _RANDOM[:12]],
    "github token": ["ghp_" + _RANDOM, "gho_" + _RANDOM, "ghs_" + _RANDOM, "github_pat_" + _LONG],
    "gitlab token": ["glpat-" + _RANDOM[:20]],
    "aws key id": ["AKIA" + "IOSFODNN7QXAMPLE", "ASIA" + "IOSFODNN7QXAMPLE"],
    "google key": ["AIza" + _RANDOM[:35]],
    "slack token": ["xoxb-" + "123456789012-" + _RANDOM, "xapp-1-" + _RANDOM],
    "stripe key": ["sk_live_" + _RANDOM, "rk_live_" + _RANDOM],
    "npm token": ["npm_" + _RANDOM],
    "pypi token": ["pypi-" + "AgEIcHlwaS5vcmc" + _RANDOM],
    "hugging face token": ["hf_" + _RANDOM],
    "web token": ["eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0NSJ9." + _RANDOM],
    "private key": [
        f"-----BEGIN {kind}PRIVATE KEY-----\n{_BODY}\n-----END {kind}PRIVATE KEY-----"
        for kind in ("", "RSA ", "OPENSSH ")
    ],
}
ASSIGNED = [
    ("GITHUB_TOKEN={}", "token"),
    ("export STRIPE_SECRET_KEY='{}'", "secret"),
    ('"api_key": "{}"', "key"),
    (r"{{\"apiKey\": \"{}\"}}", "key"),
    ("X-Api-Key: {}", "key"),
    ("aws_secret_access_key = {}", "secret"),
    ("db_password: {}", "password"),
    ("https://example.org/?access_token={}&page=2", "token"),
    ("Authorization: Bearer {}", "bearer token"),
    ('curl -H "Authorization: Basic {}"', "bearer token"),
    ("Bearer {}", "bearer token"),
    ("postgres://ada:{}@db.example.org/shop", "password"),
]
INNOCENT = [
    str(uuid.UUID(int=0x60309E1E8F4B4B8E9C551F0D2C7A9B01)),
    f"commit {sha1(b'x', usedforsecurity=False).hexdigest()}",
    f"sha256:{sha256(b'x').hexdigest()}",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
    "/home/ada/src/token_store/secrets_v2/test_password_1.py",
    "The password must have 12 characters, and the token expires in 3600 seconds.",
    "max_tokens: 4096, input_tokens=128000, token_count = 17",
    "token_expires_at: 2026-01-07T00:11:47.756Z",
    "token = get_token_v2(user1, scope2)",
    "secret = os.environ['APP_SECRET_1']",
    "api_key=${API_KEY_2}",
    "password = settings.database.password",
    'class="sk-toggleable__content-arrow sk-estimator-doc-link"',
    "task-management-system-with-a-long-name-1234567890",
    "git@github.com:ada/shop.git ssh://git@example.org:22/ada/shop.git",
    "http://localhost:8080/@scope/name",
    "Authorization: Bearer YOUR_TOKEN_GOES_HERE_123",
    "GITHUB_TOKEN=ghp_xxxxxxxxxxxx # here",
    'if "-----BEGIN PRIVATE KEY-----" in text: raise ValueError',
    "-----BEGIN CERTIFICATE-----\nMIIB...\n-----END CERTIFICATE-----",
    "bearer of bad news, token ring, secret santa: everybody",
]


@pytest.mark.parametrize(
    ("kind", "secret"), [(kind, one) for kind, some in SECRETS.items() for one in some]
)
@pytest.mark.parametrize(
    "frame", ["{}", "see {} there", '"{}",', "KEY={}\nnext", "日本{}語", r"a\n{}\n"]
)
def test_known_shapes_are_masked_whole(kind: str, secret: str, frame: str) -> None:
    assert mask(frame.format(secret)) == frame.format(f"[masked: {kind}]")


@pytest.mark.parametrize(("frame", "kind"), ASSIGNED)
def test_what_a_name_calls_secret_is_masked_when_it_looks_random(frame: str, kind: str) -> None:
    assert mask(frame.format(_RANDOM)) == frame.format(f"[masked: {kind}]")


@pytest.mark.parametrize(("frame", "_kind"), ASSIGNED[:4])
def test_a_known_shape_says_more_than_the_name_before_it(frame: str, _kind: str) -> None:
    secret = SECRETS["github token"][0]
    assert mask(frame.format(secret)) == frame.format("[masked: github token]")


@pytest.mark.parametrize("text", INNOCENT)
def test_other_things_stay(text: str) -> None:
    assert mask(text) == text
    assert mask_passage(Passage(text, ((0, 3),))) == Passage(text, ((0, 3),))


def test_the_length_is_not_told() -> None:
    assert mask("npm_" + _RANDOM) == mask("npm_" + _LONG)


def test_a_key_without_its_end_is_masked_as_far_as_it_goes() -> None:
    text = f"-----BEGIN RSA PRIVATE KEY-----\n{_BODY}"
    assert mask(f"a {text}") == "a [masked: private key]"


def test_a_key_inside_json_is_masked() -> None:
    text = f"-----BEGIN PRIVATE KEY-----\n{_BODY}\n-----END PRIVATE KEY-----\n".replace("\n", r"\n")
    assert mask(f'{{"key": "{text}"}}') == r'{"key": "[masked: private key]\n"}'


@pytest.mark.parametrize("kind", ["anthropic key", "github token", "gitlab token", "web token"])
@pytest.mark.parametrize("end", ["", "…"])
def test_what_a_shortened_text_has_of_a_key_is_masked(kind: str, end: str) -> None:
    shortened = SECRETS[kind][0][:16] + end
    assert mask(f"use {shortened}") == f"use [masked: {kind}]{end}"


def test_two_keys_are_two() -> None:
    key = SECRETS["private key"][0]
    assert mask(f"{key}\nand\n{key}").count("[masked: private key]") == 2


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("before", "before"),
        ("after", "after"),
        ("TOKEN", "TOKEN"),
        ("ghp_", "[masked: github token]"),
        (_RANDOM[-5:], "[masked: github token]"),
        ("TOKEN=ghp_", "TOKEN=[masked: github token]"),
        (_RANDOM[-5:] + " after", "[masked: github token] after"),
    ],
)
def test_marks_move_along(marked: str, expected: str) -> None:
    text = f"before TOKEN=ghp_{_RANDOM} after"
    start = text.index(marked)
    passage = mask_passage(Passage(text, ((start, start + len(marked)),)))
    assert passage.text == "before TOKEN=[masked: github token] after"
    [(first, last)] = passage.marks
    assert passage.text[first:last] == expected


def test_marks_in_one_secret_become_one() -> None:
    text = f"a ghp_{_RANDOM} b ghp_{_RANDOM} c"
    last = len(text) - 1
    passage = mask_passage(Passage(text, ((3, 5), (8, 10), (12, 14), (last, last + 1))))
    assert [passage.text[a:b] for a, b in passage.marks] == ["[masked: github token]", "c"]


_pieces = st.sampled_from(
    [
        *(one for some in SECRETS.values() for one in some),
        *(frame.format(_RANDOM) for frame, _ in ASSIGNED),
        *(frame.partition("{}")[0] for frame, _ in ASSIGNED),
        *INNOCENT,
        *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "sk-", "eyJ", "AKIA", "://"),
        *("-", "_", "=", ":", " ", "\n", '"', "'", "@", "[", "]", "1", "a", _RANDOM, "token"),
    ]
)
_texts = st.lists(_pieces | st.text(max_size=5), max_size=8).map("".join)


@examples(300)
@given(_texts)
def test_a_second_time_changes_nothing(text: str) -> None:
    assert mask(mask(text)) == mask(text)


@examples(300)
@given(_texts, st.data())
def test_marks_stay_inside_and_in_order(text: str, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=8, unique=True))
    if len(places) % 2:
        places.pop()
    places.sort()
    marks = tuple(zip(places[::2], places[1::2], strict=True))
    masked = mask_passage(Passage(text, marks))
    assert masked.text == mask(text)
    flat = [place for mark in masked.marks for place in mark]
    assert flat == sorted(flat)
    assert all(0 <= place <= len(masked.text) for place in flat)
    if masked.text == text:
        assert masked.marks == marks


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The patterns that are compiled from now on."""
    patterns: list[str] = []
    compile_ = re.compile

    def counted(pattern: str, flags: int = 0) -> re.Pattern[str]:
        patterns.append(pattern)
        return compile_(pattern, flags)

    monkeypatch.setattr(re, "compile", counted)
    return patterns


def fresh() -> Any:
    """The module as a new process has it: nothing is compiled yet."""
    spec = importlib.util.find_spec("prong.redaction.secrets")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_nothing_is_compiled_before_it_is_needed(compiled: list[str]) -> None:
    secrets = fresh()
    text = "The task-list through github, in 3 days: fork_at(risk-free, high, global-state)"
    assert secrets.mask(text) == text
    assert compiled == []
    assert secrets.mask(f"ghp_{_RANDOM}") == "[masked: github token]"
    assert compiled


@examples(300)
@given(_texts)
def test_what_is_not_compiled_would_have_found_nothing(text: str) -> None:
    mask("ghp_, token=a1b2")  # From here on everything is compiled.
    assert KNOWN.may_find(text) or not list(KNOWN.finditer(text))
    assert may_be_in(text) or mask(text) == text


@pytest.mark.parametrize("secret", [one for some in SECRETS.values() for one in some])
def test_a_new_process_masks_the_same(secret: str) -> None:
    for text in (secret, f"a{secret}", f"\\n{secret}", f"KEY={secret}", f"TOKEN: {secret}"):
        assert fresh().mask(text) == mask(text)
    for end in range(len(secret)):
        assert fresh().mask(secret[:end]) == mask(secret[:end])


@pytest.mark.parametrize(("frame", "_kind"), ASSIGNED)
def test_a_new_process_believes_the_same_names(frame: str, _kind: str) -> None:
    for text in (frame.format(_RANDOM), frame.format(_RANDOM).upper()):
        assert fresh().mask(text) == mask(text)


@examples(200)
@given(
    st.sampled_from([one for some in SECRETS.values() for one in some]),
    st.lists(st.sampled_from(INNOCENT) | st.text(), max_size=4).map("\n".join),
)
def test_no_secret_survives_among_other_text(secret: str, text: str) -> None:
    assert secret[-12:] not in mask(f"{text}\n\n{secret}\n\n{text}")


@examples(200)
@given(st.lists(_texts | st.sampled_from([one for some in SECRETS.values() for one in some])))
def test_a_text_of_texts_without_secrets_has_none_in_any_of_them(texts: list[str]) -> None:
    changed = any(mask(text) != text for text in texts)
    assert may_be_in("\n".join(texts)) or not changed
