#!/usr/bin/env python3
"""Counts the source files that `perdure run` with one tool, and `perdure resume`, execute.

path_count.py BUILD_FOLDER, of a build with gcc's --coverage. A file counts if the command executes
a line of it that `perdure version` does not. The model is a server on the loopback interface that
speaks the Anthropic API; the resumed session is one whose process was killed inside its call.
"""

import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

WAIT_SECONDS = 300
KILLED = -9
AGENT = """name: counted
model:
  provider: anthropic
  id: claude-sonnet-5-5
  base_url: {url}
  parameters: {{max_tokens: 1000}}
  key: {{env: COUNTED_KEY}}
tools:
  exec:
    look:
      description: Looks an order up.
      command: [/bin/sh, -c, "{command}"]
      side_effects: [write]
      honours_key: true
permissions: {{write: allow}}
"""
CALL = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
TEXT = {"type": "text", "text": ""}


def events(block: dict, delta: dict, reason: str) -> bytes:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-5-5", "content": [],
               "stop_reason": None, "usage": {"input_tokens": 9, "output_tokens": 1}}
    parts = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    return b"".join(f"event: {part['type']}\ndata: {json.dumps(part)}\n\n".encode() for part in parts)


class Model(http.server.BaseHTTPRequestHandler):
    """Calls the tool until it sees a result, and then ends the turn."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if b'"tool_result"' in body:
            answer = events(TEXT, {"type": "text_delta", "text": "Done."}, "end_turn")
        else:
            answer = events(CALL, {"type": "input_json_delta", "partial_json": "{}"}, "tool_use")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


class Coverage:
    """The counters of a build: set to zero, filled by a run of the program, and read by gcov."""

    def __init__(self, build: pathlib.Path, root: pathlib.Path):
        self.build = build
        self.root = root

    def clear(self) -> None:
        for counters in self.build.rglob("*.gcda"):
            counters.unlink()

    def executed(self) -> dict[str, set[int]]:
        """Per source file of ours: the lines that ran since `clear`."""
        lines: dict[str, set[int]] = {}
        for counters in self.build.rglob("*.gcda"):
            report = subprocess.run(
                ["gcov-12", "--json-format", "--stdout", counters.name],
                cwd=counters.parent, capture_output=True, text=True, check=True,
            )
            for document in report.stdout.splitlines():
                for file in json.loads(document)["files"]:
                    path = (self.build / file["file"]).resolve()
                    if path.is_relative_to(self.root / "src") or path.is_relative_to(self.root / "include"):
                        ran = {line["line_number"] for line in file["lines"] if line["count"]}
                        if ran:
                            lines.setdefault(str(path.relative_to(self.root)), set()).update(ran)
        return lines


def counted(executed: dict[str, set[int]], always: dict[str, set[int]]) -> list[str]:
    return sorted(path for path, lines in executed.items() if lines - always.get(path, set()))


class Program:
    """`perdure` of the build, in a separate folder."""

    def __init__(self, build: pathlib.Path, folder: pathlib.Path, url: str):
        self.program = build / "bin" / "perdure"
        self.folder = folder
        self.url = url
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8", "COUNTED_KEY": "k"}

    def write_agent(self, command: str) -> None:
        (self.folder / "agent.yaml").write_text(AGENT.format(url=self.url, command=command))

    def run(self, *words: str, code: int = 0) -> str:
        done = subprocess.run([str(self.program), *words], cwd=self.folder, env=self.environment, text=True,
                              capture_output=True, timeout=WAIT_SECONDS)
        if done.returncode != code:
            raise subprocess.SubprocessError(f"perdure {' '.join(words)}: {done.returncode}, not {code}: {done.stderr}")
        return done.stdout


def measure(build: pathlib.Path, root: pathlib.Path) -> dict[str, list[str]]:
    coverage = Coverage(build, root)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = Program(build, folder, f"http://127.0.0.1:{server.server_port}")
        coverage.clear()
        program.run("version")
        always = coverage.executed()

        program.write_agent("echo found")
        coverage.clear()
        program.run("run", "agent.yaml", "Look it up.", "--store", "run.db")
        run = counted(coverage.executed(), always)

        # The tool kills the program that waits for it, the first time.
        program.write_agent("test -e killed || { touch killed; kill -KILL $PPID; sleep 60; }; echo found")
        program.run("run", "agent.yaml", "Look it up.", "--store", "resume.db", code=KILLED)
        session = json.loads(program.run("sessions", "--json", "--store", "resume.db"))["items"][0]
        coverage.clear()
        program.run("resume", session["id"], "--store", "resume.db")
        resume = counted(coverage.executed(), always)
    server.shutdown()
    return {"run": run, "resume": resume}


def main() -> int:
    build = pathlib.Path(sys.argv[1]).resolve()
    root = pathlib.Path(re.search(r"CMAKE_HOME_DIRECTORY:INTERNAL=(.*)", (build / "CMakeCache.txt").read_text())[1])
    if not shutil.which("gcov-12"):
        print("gcov-12 is missing: it comes with g++-12", file=sys.stderr)
        return 2
    for command, files in measure(build, root).items():
        layers: dict[str, int] = {}
        for file in files:
            layer = "/".join(file.split("/")[:2])
            layers[layer] = layers.get(layer, 0) + 1
        sources = sum(file.endswith(".cpp") for file in files)
        print(f"{command}: {len(files)} files, {sources} of them .cpp: "
              + ", ".join(f"{layer} {count}" for layer, count in sorted(layers.items())))
        if "--list" in sys.argv:
            print("\n".join(f"  {file}" for file in files))
    return 0


if __name__ == "__main__":
    sys.exit(main())
