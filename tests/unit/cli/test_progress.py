"""A line that tells how far a long job is."""

from dataclasses import dataclass, field

import pytest

from prong.cli.progress import ProgressBar, duration, progress
from prong.model.search import IndexProgress

MB = 1_000_000


@dataclass
class Watch:
    """A progress whose clock is set by hand."""

    delay: float = 0
    seconds: float = 0
    drawn: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.tell = ProgressBar(self.drawn.append, delay=self.delay, clock=lambda: self.seconds)


def sessions(done: int, total: int = 100) -> IndexProgress:
    return IndexProgress("sessions", done, total, done * MB, total * MB)


def test_rate_and_time_left() -> None:
    watch = Watch()
    watch.tell(sessions(0))
    watch.seconds = 2
    watch.tell(sessions(25))
    assert watch.drawn[0] == "reading sessions [....................]   0%  0 of 100 MB"
    assert watch.drawn[1] == (
        "reading sessions [#####...............]  25%  25 of 100 MB  12 MB/s  6 s left"
    )


def test_texts_are_counted_where_there_are_no_bytes() -> None:
    watch = Watch()
    watch.tell(IndexProgress("meaning", 1000, 3000))
    watch.seconds = 10
    watch.tell(IndexProgress("meaning", 1320, 3000))
    # What was known before counts for the bar, not for the rate.
    assert watch.drawn[1].endswith("44%  1,320 of 3,000  32/s  52 s left")


def test_it_is_not_drawn_more_often_than_one_can_look() -> None:
    watch = Watch()
    for step in range(1000):
        watch.seconds = step / 1000
        watch.tell(sessions(step, 1000))
    assert 9 <= len(watch.drawn) <= 11


def test_what_is_done_at_once_is_not_drawn_at_all() -> None:
    watch = Watch(delay=1)
    for step in range(101):
        watch.seconds = step / 200
        watch.tell(sessions(step))
    assert watch.drawn == []
    watch.seconds = 1.5
    watch.tell(sessions(100))
    assert len(watch.drawn) == 1


def test_nothing_to_do_is_no_error() -> None:
    watch = Watch()
    watch.tell(IndexProgress("sessions", 0, 0))
    assert watch.drawn == ["reading sessions  0"]


def test_as_long_as_nobody_knows_how_much_there_is() -> None:
    watch = Watch()
    watch.tell(IndexProgress("sessions", 0, 0))
    watch.seconds = 2
    watch.tell(IndexProgress("sessions", 7, 0, 50 * MB, 0))
    assert watch.drawn[-1] == "reading sessions  50 MB  25 MB/s"


def test_silent_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as tell:
        tell(sessions(1))
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "0 s"), (8, "8 s"), (99, "99 s"), (180, "3 min"), (7200, "2 h"), (500_000, "6 d")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_bar_never_goes_back() -> None:
    """What another agent has becomes known when it is its turn: that is a bar of its own."""
    watch = Watch()
    watch.tell(sessions(0, 116))
    watch.seconds = 2
    watch.tell(sessions(100, 116))
    watch.seconds = 3
    watch.tell(sessions(101, 174))
    watch.seconds = 4
    watch.tell(sessions(150, 174))
    assert "86%  100 of 116 MB" in watch.drawn[1]
    assert watch.drawn[2].startswith("more sessions [....................]   1%  1 of 74 MB")
    assert "68%  50 of 74 MB  38 MB/s  1 s left" in watch.drawn[3]
