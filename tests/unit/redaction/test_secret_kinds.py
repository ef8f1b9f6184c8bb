"""Every kind of key is masked wherever it stands, and other text is not."""

import json
import re
import time

import pytest

from prong.redaction import kinds as secret_kinds
from prong.redaction.secrets import mask, may_be_in
from prong.redaction.visible import safe
from tests.keys import KEYS, MANIFESTS, NAMED, SHAPED, Key, leaked

FRAMES = (
    "{}",
    "see {} there",
    "a\n{}\nb",
    '{{"a": "{}"}}',
    "see `{}`.",
    "({}, 1)",
    "x={};",
    r"a\n{}\n",
)


@pytest.mark.parametrize("key", KEYS, ids=[f"{at}" for at, _ in enumerate(KEYS)])
def test_every_kind_is_masked_in_every_frame(key: Key) -> None:
    for frame in FRAMES:
        text = frame.format(key.text)
        assert may_be_in(text), key.row
        assert not leaked(mask(text), (key,)), key.row
        assert mask(mask(text)) == mask(text), key.row


@pytest.mark.parametrize("key", SHAPED, ids=[f"{at}" for at, _ in enumerate(SHAPED)])
def test_a_key_stays_hidden_in_a_path_and_in_a_name(key: Key) -> None:
    for frame in ("/home/ada/{}/x.py", "prong/{}", "mcp__{}"):
        assert not leaked(mask(frame.format(key.text)), (key,)), key.row


@pytest.mark.parametrize("key", MANIFESTS, ids=["data first", "text first", "kind first"])
def test_a_manifest_of_kubernetes(key: Key) -> None:
    before, after = "apiVersion: v1\n", "type: Opaque\n"
    assert not leaked(mask(f"{before}{key.text}{after}"), (key,))
    assert mask(f"{before}{key.text}{after}").endswith(after)
    assert not leaked(mask(json.dumps(f"{before}{key.text}{after}")), (key,))
    other = f"{before}{key.text}{after}".replace("Secret", "ConfigMap")
    assert mask(other) == other


def test_all_at_once() -> None:
    for between in ("\n", " ", ", "):
        assert leaked(mask(between.join(key.text for key in KEYS))) == []
    longer = "\n".join(f"line of words, and more {key.text}" for key in KEYS * 3)
    assert leaked(mask(longer)) == []


def test_every_kind_of_the_tables_has_a_made_up_key() -> None:
    """A row that is added to a table needs one in `tests/keys.py`."""
    text = "\n".join(key.text for key in (*SHAPED, *MANIFESTS))
    assert [one.sign for one in secret_kinds.SHAPES if one.sign not in text] == []
    said = "\n".join(key.text.lower() for key in NAMED)
    names = {one.name for one in secret_kinds.NAMED} - {"mapbox"}
    pattern = {name: name.replace("-", "[._-]*") for name in names}
    missing = [name for name in names if not re.search(pattern[name], said)]
    assert [name for name in missing if not name.endswith("-pass")] == []


def test_as_many_kinds_as_the_well_known_scanners() -> None:
    kinds = {one.kind for one in (*secret_kinds.SHAPES, *secret_kinds.NAMED)}
    assert len(kinds) >= 200
    assert len(KEYS) >= 300


@pytest.mark.parametrize("hidden", ["\u200b", "\u00ad", "\x00", "\u2066", "\U000e0041", "\x1b[31m"])
def test_a_character_that_nobody_sees_hides_no_key(hidden: str) -> None:
    for key in KEYS:
        half = len(key.text) // 2
        assert not leaked(safe(f"{key.text[:half]}{hidden}{key.text[half:]}"), (key,)), key.row


INNOCENT = [
    "linear: 3 drones, sentry: off, twitch = 5, plaid shirt: yes",
    '"sentry": "https://docs.sentry.io/platforms/python/", "azure": "https://portal.azure.com"',
    "blob: 0f0f1e2d3c4b5a69788796a5b4c3d2e1f0f1e2d3",
    "pattern = re.compile(path); api-version: 2023-05-15; test_pattern_1; live_reload = true",
    "def test_public_keys_of_9_users_and_of_all_other_ones_are_not_the_same(): ...",
    "SKIP=1 SKILLS AKIACHI EAAAH YCombinator cio.write pat.match(path) sat.solver b_tree re_escape",
    "sha256~ v1.0-rc1 dp.part glc_abc sm_path pk.id sk.learn t1.micro fc-cache sl.abc sdk-2.0.1",
    "app_key = get_key(1); signing_key: ${KEY_1}; account key: see docs",
    "master-key=/etc/keys/1.pem",
    "PWD=/home/ada/src/app2 OLDPWD=/home/ada/v1 pwd: ../x2",
    "https://hooks.slack.com/services/T000/B000/XXXX",
    "discord_channel_id = 112233445566778899",
    "author: Ada1 <ada1@localhost>, key: src/prong/a1.py, api: v2beta1, apiVersion: apps/v1",
    "auth.py:12: in test_1, keys = sorted(config1.items2()), db_pass = get_pass(1), key: see docs2",
    "docker run -u 1000:1000 image, chown -u ada:users1, Authorization: see the docs2 of it",
    "kind: Secretary1\ndata:\n  a1: b2\n, data:\n  a1: b2\nkind: ConfigMap, if key > limit1: pass",
    "data sc_1.x ext_2.y.z s.a1 (key, other1), the A3TEAM, s.upper1()",
]


@pytest.mark.parametrize("text", INNOCENT)
def test_words_that_only_begin_like_a_key_stay(text: str) -> None:
    assert mask(text) == text


HOSTILE = [
    *(one.sign for one in secret_kinds.SHAPES),
    *(f"{one.sign}a1" for one in secret_kinds.SHAPES),
    *(f"{one.name}=" for one in secret_kinds.NAMED),
    *(f"{one.name} = a1" for one in secret_kinds.NAMED),
    *("a1", "a.", "-", "_", "0123456789abcdef", "eyJ.", "=:", "://a:", "token=", "'\"`"),
]


def test_no_text_takes_more_than_a_few_times_as_long_when_it_is_twice_as_long() -> None:
    mask("x" * 50_000)
    for piece in HOSTILE:
        short = _cost(piece * (2_000 // len(piece)))
        long = _cost(piece * (8_000 // len(piece)))
        assert long < 10 * max(short, 500_000), piece


def _cost(text: str) -> int:
    """Nanoseconds of this thread, the best of three: others are at work on the machine."""
    best = 1 << 62
    for _ in range(3):
        begun = time.thread_time_ns()
        mask(text)
        best = min(best, time.thread_time_ns() - begun)
    return best
