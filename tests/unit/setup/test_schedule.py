"""What each scheduler is given, byte for byte. Stand-ins for their programs keep what they get.

Neither systemd nor cron nor launchd runs here. What systemd itself thinks of the files is asked
where `systemd-analyze` is there.
"""

import plistlib
import shlex
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from prong.app import App
from prong.errors import Corrupt, Dirty, External, Taken, Unavailable, UsageError
from prong.model.findings import SetupState
from prong.setup.schedule import prong_command
from prong.setup.schedulers.cron import Cron
from prong.setup.schedulers.job import Job
from prong.setup.schedulers.launchd import Launchd
from prong.setup.schedulers.systemd import Systemd
from prong.testing.home import IsolatedHome

ODD = '/opt/a b/100%/it\'s "$HOME"/back\\slash'
SIX = timedelta(hours=6)

Install = Callable[..., Path]

CRONTAB = """
case "$1" in
-l) [ -e "$TABLE" ] || { echo "no crontab for ada" >&2; exit 1; }; cat "$TABLE" ;;
-r) rm "$TABLE" ;;
-) cat > "$TABLE" ;;
esac
"""


@pytest.fixture
def install(
    isolated_home: IsolatedHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Install:
    """Put a program on PATH that notes how it was called; nothing else is there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "cat", "rm", "env"):
        found = shutil.which(name)
        assert found
        (folder / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("TABLE", str(tmp_path / "crontab.txt"))

    def put(name: str, script: str = "") -> Path:
        calls = tmp_path / f"{name}.calls"
        program = folder / name
        program.write_text(f'#!/bin/sh\necho "$*" >> {shlex.quote(str(calls))}\n{script}')
        program.chmod(0o755)
        calls.touch()
        return calls

    return put


def table(tmp_path: Path) -> Path:
    return tmp_path / "crontab.txt"


def calls(path: Path) -> list[str]:
    return path.read_text().splitlines()


# -- cron ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "before",
    [
        None,
        b"0 5 * * * backup\n",
        b"PATH=/x\n# mine\n\n0 5 * * * a \\% b\n\n",
        b"0 5 * * * no line end",
        b"\xff\xfe \r\n",
    ],
)
def test_the_lines_of_the_user_stay_byte_for_byte(
    install: Install, tmp_path: Path, before: bytes | None
) -> None:
    install("crontab", CRONTAB)
    if before is not None:
        table(tmp_path).write_bytes(before)
    with App() as app:
        app.setup.schedule.change(app.setup.schedule.plan_install(SIX, scheduler="cron"))
        assert table(tmp_path).read_bytes().endswith(before or b"")
        line = table(tmp_path).read_text("utf-8", "replace").splitlines()[1]
        program = shlex.join(prong_command())
        assert line == f"17 */6 * * * {program} index --json >/dev/null"
        assert not app.setup.schedule.plan_install(SIX, scheduler="cron").needed
        app.setup.schedule.change(
            app.setup.schedule.plan_install(timedelta(hours=1), scheduler="cron")
        )
        assert table(tmp_path).read_bytes().count(b"prong schedule remove") == 1
        (plan,) = app.setup.schedule.plan_remove()
        app.setup.schedule.change(plan)
    found = table(tmp_path).read_bytes() if table(tmp_path).exists() else None
    assert found == before


def test_our_lines_are_found_wherever_the_user_puts_them(install: Install, tmp_path: Path) -> None:
    install("crontab", CRONTAB)
    with App() as app:
        app.setup.schedule.change(app.setup.schedule.plan_install(SIX, scheduler="cron"))
        ours = table(tmp_path).read_bytes()
        table(tmp_path).write_bytes(b"first\n" + ours + b"last\n")
        (plan,) = app.setup.schedule.plan_remove("cron")
        app.setup.schedule.change(plan)
    assert table(tmp_path).read_bytes() == b"first\nlast\n"


def test_half_of_our_lines_are_not_guessed_at(install: Install, tmp_path: Path) -> None:
    install("crontab", CRONTAB)
    with App() as app:
        app.setup.schedule.change(app.setup.schedule.plan_install(SIX, scheduler="cron"))
        lines = table(tmp_path).read_bytes().splitlines(keepends=True)
        table(tmp_path).write_bytes(b"".join(lines[:-1]))
        with pytest.raises(Corrupt):
            app.setup.schedule.plan_install(SIX, scheduler="cron")


def test_a_crontab_that_cannot_be_read_is_not_taken_for_empty(
    install: Install, tmp_path: Path
) -> None:
    install("crontab", 'if [ "$1" = -l ]; then echo "no permission" >&2; exit 1; fi\n' + CRONTAB)
    with App() as app, pytest.raises(External, match="no permission"):
        app.setup.schedule.plan_install(SIX, scheduler="cron")
    assert not table(tmp_path).exists()


def test_a_crontab_that_changed_meanwhile_is_left_alone(install: Install, tmp_path: Path) -> None:
    install("crontab", CRONTAB)
    with App() as app:
        plan = app.setup.schedule.plan_install(SIX, scheduler="cron")
        table(tmp_path).write_bytes(b"new\n")
        with pytest.raises(Dirty):
            app.setup.schedule.change(plan)
    assert table(tmp_path).read_bytes() == b"new\n"


def test_cron_passes_odd_names_on_as_they_are(tmp_path: Path) -> None:
    """As cron does it: a backslash goes before `%`, and a shell gets the rest."""
    line = Cron(tmp_path).written(("printf", "%s|", ODD, "a%b"))
    given = line.replace(r"\%", "%")
    assert "%" not in line.replace(r"\%", "")
    done = subprocess.run(["/bin/sh", "-c", given], capture_output=True, text=True, check=True)
    assert done.stdout == f"{ODD}|a%b|"


@pytest.mark.parametrize(
    ("every", "times"),
    [
        (timedelta(minutes=15), "*/15 * * * *"),
        (timedelta(hours=1), "17 * * * *"),
        (SIX, "17 */6 * * *"),
        (timedelta(days=1), "17 3 * * *"),
    ],
)
def test_the_times_of_cron(install: Install, every: timedelta, times: str) -> None:
    install("crontab", CRONTAB)
    with App() as app:
        plan = app.setup.schedule.plan_install(every, scheduler="cron")
        assert f"\n{times} /".encode() in (plan.edits[0].after or b"")
        app.setup.schedule.change(plan)
        found = {one.scheduler: one for one in app.setup.schedule.status()}["cron"]
    assert (found.state, found.job.every) == (SetupState.INSTALLED, every)
    assert found.job.next_run is not None
    assert timedelta() < found.job.next_run - datetime.now(UTC) <= every


@pytest.mark.parametrize("every", [timedelta(minutes=45), timedelta(hours=5), timedelta(days=3)])
def test_an_interval_that_cron_does_not_know(install: Install, every: timedelta) -> None:
    install("crontab", CRONTAB)
    with App() as app, pytest.raises(UsageError, match="interval"):
        app.setup.schedule.plan_install(every, scheduler="cron")


# -- systemd ---------------------------------------------------------------------------------------


def units(home: IsolatedHome) -> Path:
    return home.root / ".config" / "systemd" / "user"


def test_systemd_gets_a_service_and_a_timer(isolated_home: IsolatedHome, install: Install) -> None:
    asked = install("systemctl")
    with App() as app:
        plan = app.setup.schedule.plan_install(SIX, Path("/exports"))
        assert (plan.scheduler, plan.needed) == ("systemd", True)
        assert not units(isolated_home).exists()
        app.setup.schedule.change(plan)
        service = (units(isolated_home) / "prong-refresh.service").read_text()
        timer = (units(isolated_home) / "prong-refresh.timer").read_text()
        program = shlex.join(prong_command())
        assert f"\nExecStart={program} index\n" in service
        assert f"\nExecStart={program} export -- /exports\n" in service
        assert "Environment" not in service
        assert "\nOnUnitActiveSec=21600s\n" in timer
        assert calls(asked)[-2:] == [
            "--user daemon-reload",
            "--user enable --now prong-refresh.timer",
        ]
        assert {one.scheduler: one.state for one in app.setup.schedule.status()} == {
            "launchd": SetupState.NONE,
            "systemd": SetupState.INSTALLED,
            "cron": SetupState.NONE,
        }
        (plan,) = app.setup.schedule.plan_remove()
        app.setup.schedule.change(plan)
        assert calls(asked)[-2:] == [
            "--user disable --now prong-refresh.timer",
            "--user daemon-reload",
        ]
        assert not app.setup.schedule.plan_remove()
    # Also the folders that were made for it.
    assert not units(isolated_home).parent.exists()


def test_a_timer_that_is_not_ours_stays(isolated_home: IsolatedHome, install: Install) -> None:
    install("systemctl")
    units(isolated_home).mkdir(parents=True)
    mine = units(isolated_home) / "prong-refresh.timer"
    mine.write_text("[Timer]\n")
    with App() as app:
        with pytest.raises(Taken):
            app.setup.schedule.plan_install(SIX)
        assert not app.setup.schedule.plan_remove()
    assert mine.read_text() == "[Timer]\n"


def test_what_systemd_refuses_is_taken_back(isolated_home: IsolatedHome, install: Install) -> None:
    install("systemctl", 'case "$*" in *enable*) echo "Access denied" >&2; exit 1 ;; esac')
    with App() as app, pytest.raises(External, match="Access denied"):
        app.setup.schedule.change(app.setup.schedule.plan_install(SIX))
    assert not units(isolated_home).exists()


def test_a_new_interval_is_told_to_a_timer_that_runs(install: Install) -> None:
    asked = install("systemctl")
    with App() as app:
        app.setup.schedule.change(app.setup.schedule.plan_install(SIX))
        app.setup.schedule.change(app.setup.schedule.plan_install(timedelta(hours=5)))
        assert calls(asked)[-1] == "--user restart prong-refresh.timer"
        assert app.setup.schedule.status()[1].job.every == timedelta(hours=5)


def test_a_timer_that_was_turned_off_is_seen_and_turned_on(install: Install) -> None:
    install("systemctl")
    with App() as app:
        app.setup.schedule.change(app.setup.schedule.plan_install(SIX))
        asked = install("systemctl", 'case "$*" in *is-active*) exit 3 ;; esac')
        assert app.setup.schedule.status()[1].state is SetupState.OFF
        plan = app.setup.schedule.plan_install(SIX)
        assert plan.needed
        app.setup.schedule.change(plan)
        assert "--user enable --now prong-refresh.timer" in calls(asked)


def test_the_next_run_is_asked_for(install: Install) -> None:
    install("systemctl", 'case "$*" in *list-timers*) echo \'[{"next":1796083200000000}]\' ;; esac')
    with App() as app:
        app.setup.schedule.change(app.setup.schedule.plan_install(SIX))
        (status,) = [one for one in app.setup.schedule.status() if one.scheduler == "systemd"]
        assert status.job.next_run == datetime.fromtimestamp(1796083200, UTC)


def test_a_job_that_calls_another_prong_is_outdated(
    isolated_home: IsolatedHome, install: Install
) -> None:
    install("systemctl")
    with App() as app:
        app.setup.schedule.change(app.setup.schedule.plan_install(SIX))
        service = units(isolated_home) / "prong-refresh.service"
        service.write_text(service.read_text().replace(prong_command()[0], "/old/prong"))
        assert app.setup.schedule.status()[1].state is SetupState.OUTDATED
        assert app.setup.schedule.plan_install(SIX).needed


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
@pytest.mark.parametrize("name", ["plain", "a b", "100%h", "$HOME", "it's", 'a"b', "a\\x41b"])
def test_systemd_itself_reads_the_files(
    isolated_home: IsolatedHome, tmp_path: Path, name: str
) -> None:
    """A program with an odd name is found: so its name was understood."""
    program = tmp_path / name / "prong"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    job = Job(((str(program), "index"), (str(program), "export", "--", "/x y/%h/$A")), SIX)
    paths: list[str] = []
    for edit in Systemd(tmp_path / "state").edits(job):
        edit.path.parent.mkdir(parents=True, exist_ok=True)
        edit.path.write_bytes(edit.after or b"")
        paths.append(str(edit.path))
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", "--man=no", *paths],
        env=isolated_home.env({"XDG_RUNTIME_DIR": str(tmp_path)}),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    about_us = [line for line in done.stderr.splitlines() if "prong" in line]
    assert about_us == []


# -- launchd ---------------------------------------------------------------------------------------


def test_launchd_gets_a_property_list(isolated_home: IsolatedHome, install: Install) -> None:
    asked = install("launchctl")
    file = isolated_home.root / "Library" / "LaunchAgents" / "prong.refresh.plist"
    with App() as app:
        app.setup.schedule.change(app.setup.schedule.plan_install(SIX, Path(ODD)))
        found = plistlib.loads(file.read_bytes())
        assert found["StartInterval"] == 21600
        assert found["ProgramArguments"][:2] == ["/bin/sh", "-c"]
        words = shlex.split(found["ProgramArguments"][2])
        program = list(prong_command())
        assert words == [*program, "index", "&&", *program, "export", "--", ODD]
        assert "EnvironmentVariables" not in found
        assert file.stat().st_mode & 0o777 == 0o600
        (call,) = [line for line in calls(asked) if line.startswith("bootstrap")]
        assert call.endswith(f" {file}")
        assert app.setup.schedule.status()[0].state is SetupState.INSTALLED
        (plan,) = app.setup.schedule.plan_remove("launchd")
        app.setup.schedule.change(plan)
        assert calls(asked)[-1].startswith("bootout gui/")
    assert not file.exists()


def test_one_command_needs_no_shell(tmp_path: Path, isolated_home: IsolatedHome) -> None:
    (edit,) = Launchd(tmp_path).edits(Job((("/x y/prong", "index"),), SIX))
    assert plistlib.loads(edit.after or b"")["ProgramArguments"] == ["/x y/prong", "index"]


def test_an_old_launchd_is_asked_in_the_old_way(
    isolated_home: IsolatedHome, install: Install
) -> None:
    asked = install("launchctl", 'case "$1" in boot*) exit 64 ;; esac')
    with App() as app:
        app.setup.schedule.change(app.setup.schedule.plan_install(SIX))
        assert calls(asked)[-1].startswith("load -w ")


def test_what_launchd_refuses_is_taken_back(isolated_home: IsolatedHome, install: Install) -> None:
    install("launchctl", "echo 'Bootstrap failed: 5' >&2; exit 5")
    with App() as app, pytest.raises(External, match="Bootstrap failed"):
        app.setup.schedule.change(app.setup.schedule.plan_install(SIX))
    assert not (isolated_home.root / "Library").exists()


# -- all of them -----------------------------------------------------------------------------------


def test_the_first_that_is_there_is_used(install: Install) -> None:
    with App() as app:
        with pytest.raises(Unavailable):
            app.setup.schedule.plan_install(SIX)
        install("crontab", CRONTAB)
        assert app.setup.schedule.plan_install(SIX).scheduler == "cron"
        install("systemctl")
        assert app.setup.schedule.plan_install(SIX).scheduler == "systemd"
        install("systemctl", "echo 'Failed to connect to bus' >&2; exit 1")
        assert app.setup.schedule.plan_install(SIX).scheduler == "cron"


def test_it_is_not_scheduled_twice(install: Install) -> None:
    install("crontab", CRONTAB)
    install("systemctl")
    with App() as app:
        app.setup.schedule.change(app.setup.schedule.plan_install(SIX, scheduler="cron"))
        with pytest.raises(Taken, match="cron"):
            app.setup.schedule.plan_install(SIX)


def test_what_is_only_set_here_is_told(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("crontab", CRONTAB)
    monkeypatch.setenv("CODEX_HOME", "/elsewhere")
    with App() as app:
        plan = app.setup.schedule.plan_install(SIX)
    assert "CODEX_HOME" in plan.notes[0]
    assert b"elsewhere" not in (plan.edits[0].after or b"")


def test_a_name_with_a_line_end_is_refused(install: Install) -> None:
    install("crontab", CRONTAB)
    with App() as app, pytest.raises(UsageError, match="control character"):
        app.setup.schedule.plan_install(SIX, Path("/a\nb"))
