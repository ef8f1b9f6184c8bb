"""The code that the sample sessions are about: a small shop, before and after each turn."""

README = "# Shop\n\nA small web shop, made for `prong demo`.\n"

API = '''\
"""The public API."""

from shop.keys import key_of
from shop.limit import allow


def handle(request: dict[str, str]) -> tuple[int, str]:
    if not allow(key_of(request)):
        return 429, "too many requests"
    return 200, "hello"
'''

KEYS = '''\
"""Who is asking."""


def key_of(request: dict[str, str]) -> str:
    return request.get("api_key", "anonymous")
'''

NO_LIMIT = '''\
"""How often a key may ask."""


def allow(key: str) -> bool:
    return True  # for ever, so far
'''

TESTS = """\
from shop.limit import allow


def test_sixty_requests_are_allowed() -> None:
    assert all(allow("ada") for _ in range(60))


def test_the_next_one_is_not() -> None:
    assert not all(allow("grace") for _ in range(61))


def test_each_key_has_its_own() -> None:
    assert allow("alan")
"""

START = {
    "README.md": README,
    "shop/api.py": API,
    "shop/keys.py": KEYS,
    "shop/limit.py": NO_LIMIT,
    "tests/test_limit.py": TESTS,
}
"""The repository before the first turn."""

BUCKET = '''\
"""How often a key may ask: 60 times a minute."""

import time

SIZE = 60
TOKENS_A_SECOND = 1

_buckets: dict[str, tuple[float, float]] = {}


def allow(key: str) -> bool:
    """Take a token out of the key's bucket; False when there is none."""
    now = time.monotonic()
    tokens, last = _buckets.get(key, (SIZE, now))
    tokens = min(SIZE, tokens + (now - last) * TOKENS_A_SECOND)
    is_allowed = tokens >= 1
    _buckets[key] = (tokens - is_allowed, now)
    return is_allowed
'''

REDIS = '''\
"""How often a key may ask: 60 times a minute, whichever worker it asks."""

import redis

SIZE = 60
SECONDS = 60

_counters = redis.Redis()


def allow(key: str) -> bool:
    """Count the request; False when the minute is full."""
    name = f"limit:{key}"
    count = _counters.incr(name)
    if count == 1:
        _counters.expire(name, SECONDS)
    return count <= SIZE
'''

DATABASE = '''\
"""How often a key may ask: 60 times a minute, whichever worker it asks."""

from shop.database import connection

SIZE = 60
SECONDS = 60
'''
"""The turn was interrupted, and rewound."""

CONFTEST = """\
import socket
import subprocess
from collections.abc import Iterator

import pytest
import redis

from shop import limit


@pytest.fixture(autouse=True, scope="session")
def server() -> Iterator[None]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(["redis-server", "--port", str(port)])
    limit._counters = redis.Redis(port=port)
    yield
    process.terminate()
"""

LIMIT_IN_README = """
## Limits

60 requests a minute for each key. After that, 429 and these headers:

- `Retry-After`: seconds until the next request is allowed
- `RateLimit-Remaining`: requests that are left
"""

SLIDING_WINDOW = '''\
"""How often a key may ask: 60 times in any 60 seconds, whichever worker it asks."""

import time
import uuid

import redis

SIZE = 60
SECONDS = 60

_counters = redis.Redis()


def allow(key: str) -> bool:
    """Count the request; False when there were too many in the last minute."""
    name = f"limit:{key}"
    now = time.time()
    _counters.zremrangebyscore(name, 0, now - SECONDS)
    if _counters.zcard(name) >= SIZE:
        return False
    _counters.zadd(name, {uuid.uuid4().hex: now})
    return True
'''
