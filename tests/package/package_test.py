#!/usr/bin/env python3
"""Unpacks the packages into empty roots and runs the program there: package_test.py FOLDER.

A root holds what its package declares, file by file, and nothing else: no compiler, no shell, no
accidental library. For the .deb, that is the packages it depends on, directly or not, as installed on this
machine; for the tarball, libc6 alone. An agent is run and resumed there. Then the shell that every Debian
has is added, and the demonstration is run.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def expect(holds: bool, what: str, said: object = "") -> None:
    if not holds:
        sys.exit(f"package_test: {what}\n{said}")


def run(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    expect(done.returncode == 0, " ".join(map(str, command)), done.stdout + done.stderr)
    return done.stdout


def names_in(depends: str) -> list[str]:
    """The first of each group of alternatives that is installed."""
    chosen = []
    for group in filter(None, (part.strip() for part in depends.split(","))):
        names = [re.match(r"[a-z0-9.+-]+", one.strip()).group(0) for one in group.split("|")]
        chosen.append(next((name for name in names if is_installed(name)), names[0]))
    return chosen


def is_installed(name: str) -> bool:
    done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", name], capture_output=True, text=True)
    return done.returncode == 0 and done.stdout.startswith("installed")


def with_all_they_need(packages: list[str]) -> set[str]:
    known: set[str] = set()
    waiting = list(packages)
    while waiting:
        name = waiting.pop()
        # Virtual packages are provided by an installed one; a missing package was not needed here.
        if name in known or not is_installed(name):
            continue
        known.add(name)
        waiting += names_in(run("dpkg-query", "-W", "-f", "${Depends}, ${Pre-Depends}\n", name).splitlines()[0])
    return known


# Essential packages: every Debian system has them.
SHELL = ["bash", "coreutils", "dash", "sed"]
AGENT = """\
name: tested
model: {provider: scripted, script: script.json}
tools: {exec: {note: {description: Notes., command: [PROGRAM, version], side_effects: [write]}}}
permissions: {write: ask}
"""
FAR_AGENT = """\
name: far
model: {provider: openai, id: m, base_url: "http://127.0.0.1:9", retry_for: 1ms}
"""
SCRIPT = {"responses": [{"text": "I note it.", "calls": [{"name": "note", "args": {}}]}, {"text": "It was not to be."}]}


class Root:
    def __init__(self, folder: str, packages: set[str]) -> None:
        self.path = pathlib.Path(folder)
        for name in ("bin", "lib", "lib64", "sbin"):
            (self.path / "usr" / name).mkdir(parents=True)
            (self.path / name).symlink_to(f"usr/{name}")
        for name in ("proc", "dev", "tmp", "opt"):
            (self.path / name).mkdir()
        for package in packages:
            for line in run("dpkg", "-L", package).splitlines():
                self.take(pathlib.Path(line))

    def add_shell(self) -> None:
        for package in with_all_they_need(SHELL):
            for line in run("dpkg", "-L", package).splitlines():
                self.take(pathlib.Path(line), ("/bin", "/usr/bin"))
        (self.path / "etc").mkdir(exist_ok=True)
        (self.path / "etc/passwd").write_text("somebody:x:0:0::/tmp:/bin/bash\n")

    def take(self, path: pathlib.Path, more: tuple[str, ...] = ()) -> None:
        is_wanted = path.is_file() and str(path).startswith(("/lib", "/usr/lib", "/etc/ssl/openssl.cnf", *more))
        if not is_wanted:
            return
        target = self.path / str(path.parent.resolve() / path.name).lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copy2(path, target, follow_symlinks=False)

    def remove(self, package: str) -> None:
        for line in run("dpkg", "-L", package).splitlines():
            if ".so" in line:
                (self.path / line.lstrip("/")).unlink(missing_ok=True)

    def run(self, *words: str) -> tuple[int, str]:
        command = ["bwrap", "--unshare-all", "--die-with-parent", "--clearenv", "--setenv", "PATH", "/usr/bin",
                   "--bind", self.path, "/", "--proc", "/proc", "--dev", "/dev", "--chdir", "/tmp", *words]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout + done.stderr


def try_out(root: Root, prefix: str, version: str) -> None:
    program = f"{prefix}/bin/perdure"
    for words, hint in ((["version"], version), (["help"], "sessions"), (["completion", "bash"], "perdure")):
        code, said = root.run(program, *words)
        expect(code == 0 and hint in said, f"perdure {' '.join(words)} does not run in an empty root", (code, said))
    code, said = root.run(program, "sessions", "--store", "/tmp/none.db")
    expect(code == 3 and "there is no store" in said, "it does not report that the store is missing", (code, said))
    code, said = root.run(f"{prefix}/lib/perdure/refund-desk/refund_desk", "order")
    expect(code == 75 and "REFUND_DESK" in said, "the refund desk does not run", (code, said))
    try_agent(root, program)
    try_servers(root, program)
    root.add_shell()
    code, said = root.run(program, "demo")
    expect(code == 0 and "1 refund, 1 letter, 2 kills." in said, "perdure demo does not run", (code, said))


def try_agent(root: Root, program: str) -> None:
    """Started by one process, approved by a second, continued by a third."""
    (root.path / "tmp/agent.yaml").write_text(AGENT.replace("PROGRAM", program))
    (root.path / "tmp/script.json").write_text(json.dumps(SCRIPT))
    at = ["--store", "/tmp/store.db"]
    for words, wanted, hint in (
        (["run", "agent.yaml", "Note it."], 8, "it needs approval"),
        (["deny", "@last", "--reason", "no"], 0, "denied"),
        (["resume", "@last"], 0, "It was not to be."),
        (["timeline", "@last"], 0, "Note it."),
        (["check"], 0, "sound: 1 session"),
    ):
        code, said = root.run(program, *words, *at)
        expect(code == wanted and hint in said, f"perdure {words[0]} does not run in an empty root", (code, said))


def try_servers(root: Root, program: str) -> None:
    """There are no servers, so it reports that none answers."""
    (root.path / "tmp/far.yaml").write_text(FAR_AGENT)
    for words, hint in (
        (["sessions", "--store", "postgres://nobody@127.0.0.1:9/none"], "127.0.0.1"),
        (["run", "far.yaml", "Hello.", "--store", "/tmp/store.db"], "127.0.0.1"),
    ):
        code, said = root.run(program, *words)
        expect(code not in (0, 127) and hint in said, f"perdure {words[0]} cannot reach servers", (code, said))


def check_contents(tree: pathlib.Path) -> None:
    held = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}
    for wanted in ("share/man/man1/perdure.1.gz", "share/bash-completion/completions/perdure",
                   "share/zsh/vendor-completions/_perdure", "share/fish/vendor_completions.d/perdure.fish",
                   "share/doc/perdure/copyright", "share/doc/perdure/LICENSE", "share/doc/perdure/changelog.gz",
                   "share/doc/perdure/docs/guarantees.md", "share/doc/perdure/SECURITY.md", "share/doc/perdure/docs/demo.svg",
                   "lib/perdure/refund-desk/agent.yaml",
                   "lib/perdure/refund-desk/demo"):
        expect(wanted in held, f"{wanted} is missing", sorted(held))
    run(sys.executable, pathlib.Path(__file__).parents[1] / "docs/packaged_documents_test.py", tree / "share/doc/perdure")
    expect("SQLite" in (tree / "share/doc/perdure/copyright").read_text(), "SQLite's notice is missing")


def needed_by(binary: pathlib.Path) -> set[str]:
    return set(re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", binary)))


def check_deb(deb: pathlib.Path) -> None:
    version = run("dpkg-deb", "-f", deb, "Version").strip()
    declared = names_in(run("dpkg-deb", "-f", deb, "Depends").strip())
    with tempfile.TemporaryDirectory() as folder:
        root = Root(folder, with_all_they_need(declared))
        run("dpkg-deb", "-x", deb, folder)
        check_contents(root.path / "usr")
        try_out(root, "/usr", version)
        # Minimal: every declared package provides a needed library.
        binaries = [root.path / "usr/bin/perdure", root.path / "usr/lib/perdure/refund-desk/refund_desk"]
        wanted = set().union(*(needed_by(binary) for binary in binaries))
        for package in declared:
            files = {pathlib.Path(line).name for line in run("dpkg", "-L", package).splitlines()}
            expect(bool(files & wanted), f"{package} is declared, and nothing of it is needed", wanted)
        # And sufficient: the root holds nothing else, so without one of them it would not start.
        root.remove(next(name for name in declared if name.startswith("libfmt")))
        expect(root.run("/usr/bin/perdure", "version")[0] != 0, "the root holds more than was declared")
    print(f"{deb.name}: runs on {len(declared)} declared packages: {', '.join(declared)}")


def check_tarball(tarball: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Root(folder, {"libc6"})
        run("tar", "-xzf", tarball, "-C", root.path / "opt")
        tree = next((root.path / "opt").iterdir())
        check_contents(tree)
        notices = {path.name for path in (tree / "share/doc/perdure/third-party").iterdir()}
        brought = [path for path in (tree / "lib/perdure").iterdir() if ".so" in path.name]
        expect(len(brought) > 5 and len(notices) > 5, "libraries come with their notices", (brought, notices))
        try_out(root, f"/opt/{tree.name}", tree.name.split("-")[1])
    print(f"{tarball.name}: runs on libc6 alone, with {len(brought)} libraries of {len(notices)} packages")


packages = pathlib.Path(sys.argv[1])
check_deb(next(packages.glob("*.deb")))
check_tarball(next(packages.glob("*.tar.gz")))
