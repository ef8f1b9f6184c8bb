"""A repository in which every setting of git that can run a program runs one: it leaves a mark."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from tests.cli.code_lab import CodeLab, git

PROGRAMS = (
    *("core.pager", "core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.editor"),
    *("core.askPass", "core.alternateRefsCommand", "sequence.editor", "diff.external"),
    *("pager.diff", "pager.log", "pager.status", "pager.config", "pager.ls-files", "pager.reflog"),
    *("diff.evil.command", "diff.evil.textconv", "merge.evil.driver", "interactive.diffFilter"),
    *("filter.evil.clean", "filter.evil.smudge", "filter.only.process"),
    *("filter.a=b.c.clean", "filter.a=b.c.smudge"),
    *("credential.helper", "credential.https://x.helper", "gpg.program", "gpg.ssh.program"),
    *("gpg.x509.program", "gpg.openpgp.program", "gpg.ssh.defaultKeyCommand"),
    *("uploadpack.packObjectsHook", "remote.origin.uploadpack", "remote.origin.receivepack"),
    *("difftool.evil.cmd", "mergetool.evil.cmd", "browser.evil.cmd", "man.evil.cmd"),
    *("trailer.evil.command", "trailer.evil.cmd", "tar.evil.command", "sendemail.smtpServer"),
    *("sendemail.toCmd", "sendemail.ccCmd", "guitool.evil.cmd", "submodule.inner.update"),
    *("instaweb.httpd", "web.browser", "remote.origin.vcs", "hook.evil.command"),
    "gc.recentObjectsHook",
    *("filter.X.Y=z.clean", "filter.X.Y=z.process", "submodule.other.update"),
    *("alias.status", "alias.diff", "alias.config", "alias.rev-parse", "alias.for-each-ref"),
)
"""Settings whose value is a program."""
PLAIN = {
    "commit.gpgSign": "true",
    "tag.gpgSign": "true",
    "log.showSignature": "true",
    "diff.guitool": "evil",
    "diff.tool": "evil",
    "merge.tool": "evil",
    "help.browser": "evil",
    "filter.evil.required": "true",
    "filter.only.required": "true",
    "core.fsmonitorHookVersion": "2",
    "core.untrackedCache": "true",
    "extensions.worktreeConfig": "true",
    "extensions.partialClone": "origin",
    "remote.origin.promisor": "true",
    "protocol.allow": "always",
    "protocol.ext.allow": "always",
    "submodule.recurse": "true",
    "fetch.recurseSubmodules": "true",
    "submodule.inner.ignore": "none",
    "diff.ignoreSubmodules": "none",
    "status.submoduleSummary": "true",
    "gc.auto": "1",
    "maintenance.auto": "true",
}
"""Settings that lead to one of those."""
PIPES = ("diff.orderFile", "mailmap.file", "blame.ignoreRevsFile", "fsck.skipList")
HOOKS = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit"),
    *("prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout"),
    *("post-merge", "pre-push", "pre-receive", "update", "proc-receive", "post-receive"),
    *("post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite"),
    *("sendemail-validate", "fsmonitor-watchman", "post-index-change"),
)
ATTRIBUTES = """\
* filter=evil diff=evil merge=evil
*.md filter=a=b.c diff=evil
*.py filter=only diff=evil
"""
_SIGNED = """\
tree {tree}
parent {parent}
author A <a@localhost> 1500000000 +0000
committer A <a@localhost> 1500000000 +0000
gpgsig -----BEGIN PGP SIGNATURE-----
 nothing
 -----END PGP SIGNATURE-----

signed
"""


@dataclass(frozen=True)
class Trap:
    """Where the programs leave their marks."""

    marks: Path

    @property
    def sprung(self) -> list[str]:
        """The settings whose program ran."""
        return sorted(path.name for path in self.marks.iterdir())

    def reset(self) -> None:
        for path in self.marks.iterdir():
            path.unlink()

    def program(self, name: str) -> str:
        """Its path: some settings take a line for a shell, others only a program."""
        path = self.marks.parent / "programs" / re.sub(r"\W", "_", name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch '{self.marks}/{name.replace('/', '_')}'\n")
        path.chmod(0o755)
        return str(path)

    def settings(self) -> str:
        """All of them, as a file of settings."""
        found = [(name, self.program(name)) for name in PROGRAMS]
        found = [(name, f"!{v}" if name.startswith("alias.") else v) for name, v in found]
        found += [*PLAIN.items(), ("remote.origin.url", f"ext::sh -c {self.program('url')}")]
        found += [
            (f"url.ext::sh -c {self.program('insteadOf')}.insteadOf", "https://"),
            ("fetch.bundleURI", f"ext::sh -c {self.program('bundleURI')}"),
            ("remote.second.url", "evil://anywhere"),  # git would run `git-remote-evil`
            ("remote.second.promisor", "true"),
        ]
        found += [("hook.evil.event", event) for event in HOOKS]
        return "".join(map(_setting, *zip(*found, strict=True)))

    def hooks(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name in HOOKS:
            (folder / name).symlink_to(self.program(f"hook {name}"))


def set_pipes(lab: CodeLab, folder: Path) -> None:
    """Settings that name a file which git would read, and wait for: a pipe."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    with (lab.folder / ".git/config").open("a") as file:
        for name in PIPES:
            file.write(_setting(name, str(pipe)))


def set_trap(lab: CodeLab, worktree: Path, marks: Path) -> Trap:
    """In a repository with a submodule and with a worktree that a fork got."""
    marks.mkdir()
    trap = Trap(marks)
    folder, inner = lab.folder, lab.folder / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet", "--initial-branch", "main")
    (inner / "one.py").write_text("one\n")
    git(inner, "add", "--all")
    git(inner, "commit", "--quiet", "--message", "inner")
    git(folder, "add", "inner")
    git(folder, "commit", "--quiet", "--message", "with inner")
    words = ("rev-parse", "HEAD^{tree}", "HEAD")
    tree, head = git(folder, *words).decode().split()
    signed = _SIGNED.format(tree=tree, parent=head).encode()
    commit = git(folder, "hash-object", "-t", "commit", "-w", "--stdin", given=signed)
    git(folder, "update-ref", "--create-reflog", "refs/heads/main", commit.decode().strip())
    for top in (folder, inner, worktree):
        (top / ".gitattributes").write_text(ATTRIBUTES)
    (folder / ".git/info").mkdir(exist_ok=True)
    (folder / ".git/info/attributes").write_text(ATTRIBUTES)
    trap.hooks(folder / ".git/hooks")
    trap.hooks(folder / "hooks")
    trap.hooks(inner / ".git/hooks")
    further = marks.parent / "further"
    further.write_text(trap.settings())
    hooks = _setting("core.hooksPath", str(folder / "hooks"))
    entry = next((folder / ".git/worktrees").iterdir())
    for git_folder in (folder / ".git", inner / ".git", entry):
        (git_folder / "included").write_text(_setting("include.path", str(further)) + hooks)
        (git_folder / "config.worktree").write_text(_setting("include.path", str(further)))
        if git_folder != entry:
            with (git_folder / "config").open("a") as file:
                file.write(_setting("include.path", "included"))
                file.write(_setting(f"includeIf.gitdir:{folder}/.path", "included"))
    for top in (folder, inner, worktree):
        spoil(top)
    trap.reset()
    return trap


def _setting(name: str, value: str) -> str:
    section, _, rest = name.partition(".")
    inner, _, key = rest.rpartition(".")
    head = f'[{section} "{inner}"]' if inner else f"[{section}]"
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{head}\n\t{key} = "{quoted}"\n'


def spoil(top: Path) -> None:
    """Make git look into the tracked files: their times are those of no index."""
    for path in (top / "README.md", top / "api/keys.py", top / "one.py"):
        if path.exists():
            os.utime(path)
