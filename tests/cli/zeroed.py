"""Zeroes each row of a store in its file in turn, as a failing disk does, and resumes the sessions.

usage: zeroed.py PERDURE

The page sums are recomputed, so only the row itself shows the damage. For every row, either a resume ends
as it does without damage, and the model gets the same request; or it reports that the store is damaged,
exits with 6, and the model is not asked. This holds for a session with a call in doubt, too. One exception:
without its entry in the index of ids a session is not found.
"""

import json
import pathlib
import sys

from agent_folder import AgentFolder, Gate, kill
from model_server import ModelServer

DAMAGED = 6
NOT_FOUND = 3
RESPONSES = [
    {"text": "I look.", "calls": [{"name": "look", "args": {"what": "chair"}}]},
    {"text": "There is one."},
    {"text": "You are welcome."},
]
PAYS = [{"calls": [{"name": "pay", "args": {"what": "chair"}}]}, {"text": "It is paid."}]


def sum_of(page: bytes, number: int) -> bytes:
    """As src/store/sqlite/engine/summing_vfs.cpp computes it."""
    one, two = number, 0
    for at in range(0, len(page) - 8, 8):
        one = (one + int.from_bytes(page[at : at + 4], "little") + two) & 0xFFFFFFFF
        two = (two + int.from_bytes(page[at + 4 : at + 8], "little") + one) & 0xFFFFFFFF
    return one.to_bytes(4, "little") + two.to_bytes(4, "little")


def varint(page: bytes, at: int) -> tuple[int, int]:
    value = 0
    for length in range(1, 10):
        byte = page[at + length - 1]
        value = value << 8 | byte if length == 9 else value << 7 | byte & 0x7F
        if length == 9 or byte < 0x80:
            return value, at + length
    raise AssertionError


def rows_of(content: bytes, size: int) -> list[tuple[int, int, int]]:
    """The payload of each cell of a leaf, as page, begin, end. Keys stay: those of tables are not in the payload."""
    rows = []
    for number in range(1, len(content) // size + 1):
        page = content[(number - 1) * size : number * size]
        head = 100 if number == 1 else 0
        if page[head] not in (0x0D, 0x0A) or number == 1:  # The first page has the schema, not rows.
            continue
        for cell in range(int.from_bytes(page[head + 3 : head + 5], "big")):
            at = int.from_bytes(page[head + 8 + 2 * cell : head + 10 + 2 * cell], "big")
            length, at = varint(page, at)
            if page[head] == 0x0D:
                _, at = varint(page, at)
            rows.append((number, at, min(at + length, size - 8)))
    return rows


def zeroed(content: bytes, size: int, row: tuple[int, int, int]) -> bytes:
    number, begin, end = row
    page = bytearray(content[(number - 1) * size : number * size])
    page[begin:end] = bytes(end - begin)
    page[size - 8 :] = sum_of(page, number)
    return content[: (number - 1) * size] + bytes(page) + content[number * size :]


class Scene:
    """A folder with a session in its store, and the result of resuming it."""

    def __init__(self, program: str, responses: list):
        self.folder = AgentFolder(program)
        self.model = ModelServer(responses)
        self.store = pathlib.Path(self.folder.environment["PERDURE_STORE"])

    def write_agent(self, tools: dict) -> str:
        model = {"provider": "openai", "id": "scripted", "base_url": self.model.url}
        return self.folder.write_agent([], tools, model=model, prices={"scripted": {"input": 0, "output": 0}})

    def close(self) -> None:
        self.folder.close()
        self.model.close()

    def session(self) -> str:
        return json.loads(self.folder.run("show", "@last", "--json").stdout)["session"]["id"]

    def resumed(self, session: str, content: bytes, words: list[str]) -> tuple:
        for file in self.store.parent.glob(self.store.name + "*"):
            file.unlink()
        self.store.write_bytes(content)
        self.model.requests.clear()
        done = self.folder.run("resume", session, *words)
        asked = [request["messages"] for request in self.model.requests]
        return done.returncode, done.stdout, asked, done.stderr

    def judge(self, name: str, session: str, words: list[str]) -> list[str]:
        content = self.store.read_bytes()
        size = int.from_bytes(content[16:18], "big")
        whole = self.resumed(session, content, words)
        rows = rows_of(content, size)
        wrong = []
        named = missed = 0
        for row in rows:
            code, out, asked, err = self.resumed(session, zeroed(content, size, row), words)
            if code in (DAMAGED, NOT_FOUND) and not asked:
                named += code == DAMAGED
                missed += code == NOT_FOUND
            elif (code, out, asked) != whole[:3]:
                wrong.append(f"{name}: row at {row}: {code} instead of {whole[0]}: {out}{err}{asked} instead of {whole[2]}")
        if missed > 1:
            wrong.append(f"{name}: {missed} rows make the session one that is not there")
        print(f"zeroed: {name}: {len(rows)} rows, {named} named as damage, {len(wrong)} wrong", flush=True)
        return wrong


def talked(program: str) -> list[str]:
    scene = Scene(program, RESPONSES)
    try:
        look = {"description": "Looks.", "command": ["/bin/echo", "a chair"], "side_effects": ["read"]}
        agent = scene.write_agent({"look": look})
        if scene.folder.run("run", agent, "Is there a chair?").returncode != 0:
            return ["a run that nothing happens to fails"]
        session = scene.session()
        if scene.resumed(session, scene.store.read_bytes(), [])[0] != 0:
            return ["a resume that nothing happens to fails"]
        return scene.judge("a conversation", session, ["Thanks"])
    finally:
        scene.close()


def in_doubt(program: str) -> list[str]:
    scene = Scene(program, PAYS)
    try:
        gate = Gate(scene.folder)
        pay = {"description": "Pays.", "command": ["/bin/sh", "-c", gate.shell()], "side_effects": ["write", "mutate"]}
        agent = scene.write_agent({"pay": pay})
        process = scene.folder.start("run", agent, "Pay for a chair")
        gate.await_arrival()
        kill(process)
        gate.open()
        session = scene.session()  # A reader writes the WAL back into the file when it closes.
        scene.folder.run("check")
        scene.folder.run("rename", session, "A chair")
        return scene.judge("a call in doubt", session, [])
    finally:
        scene.close()


def main() -> int:
    program = sys.argv[1]
    wrong = talked(program) + in_doubt(program)
    for each in wrong:
        print(each)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
