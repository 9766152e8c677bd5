"""Kills the refund desk at its two worst moments and checks the bank's ledger:
refund_desk_test.py REFUND_DESK REFUND_DESK_RUN."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

desk, run = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
agent = str(pathlib.Path(desk).parent / "agent.yaml")
# Kills the process that reads this line, which then becomes the agent.
ARM = 'echo $$ > "$1"; shift; exec "$@"'


def expect(holds: bool, what: str, said: object = "") -> None:
    if not holds:
        sys.exit(f"{what}\n{said}")


class Desk:
    def __init__(self, folder: str) -> None:
        self.folder = pathlib.Path(folder)
        self.environment = {**os.environ, "REFUND_DESK": folder}
        self.bank = subprocess.Popen([desk, "bank", folder], stdout=subprocess.PIPE, text=True)
        opened = self.bank.stdout.readline()
        expect("is open: http://127.0.0.1:" in opened, "the bank did not open", opened)
        self.address = opened.split()[-1].removesuffix("/book")

    def close(self) -> None:
        self.bank.kill()
        self.bank.wait()
        self.bank.stdout.close()

    def run(self, *words: str, killed_after: str = "") -> tuple[int, str]:
        command = [run, agent, str(self.folder), *words]
        if killed_after:
            command = ["sh", "-c", ARM, "sh", str(self.folder / f"kill-after-{killed_after}"), *command]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout + done.stderr

    def ask(self, path: str, body: object = None) -> tuple[int, str]:
        data = json.dumps(body).encode() if body is not None else None
        try:
            with urllib.request.urlopen(self.address + path, data=data, timeout=300) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def book(self) -> list[dict]:
        return [json.loads(line) for line in self.ask("/book")[1].splitlines()]

    def letters(self) -> list[dict]:
        path = self.folder / "letters.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def kill_it_twice(shop: Desk) -> None:
    code, said = shop.run("Refund order 1042.", killed_after="refund")
    expect(code == -9, "the agent was to be killed when the bank had paid", (code, said))
    expect("succeeded: {\"refund\"" not in said, "it knew of the refund", said)
    expect([line["cents"] for line in shop.book()] == [4900], "the bank paid once", shop.book())

    code, said = shop.run(killed_after="letter")
    expect(code == -9, "the agent was to be killed when the letter was posted", (code, said))
    expect("succeeded: {\"refund\":1," in said, "the refund was to be found out about", said)
    expect("refund …" not in said, "the refund was made again", said)
    expect(len(shop.book()) == 1 and len(shop.letters()) == 1, "one refund, one letter", said)

    code, said = shop.run()
    expect(code == 3 and "letter" in said, "the letter was to be in doubt", (code, said))
    code, said = shop.run()
    expect(code == 3, "no decision was made yet", (code, said))
    expect(len(shop.letters()) == 1, "the letter was posted again", shop.letters())

    code, said = shop.run("resolve", "succeeded", "it is in the box")
    expect(code == 0 and "is refunded" in said, "it should continue to its end", (code, said))
    code, said = shop.run()
    expect(code == 0, "it has ended", (code, said))
    expect(len(shop.book()) == 1 and len(shop.letters()) == 1, "one refund, one letter", said)


def ask_the_bank(shop: Desk) -> None:
    """The bank would pay twice if asked twice: it does not deduplicate."""
    expect(shop.ask("/refunds/none")[0] == 404, "nothing was paid for that")
    expect(shop.ask("/orders/9")[0] == 404 and shop.ask("/elsewhere")[0] == 404, "there is none")
    refund = {"operation": "o", "order": "1041", "cents": 100}
    for bad in ({}, {**refund, "order": "9"}, {**refund, "cents": 99999}, {**refund, "cents": "x"}):
        expect(shop.ask("/refunds", bad)[0] in (400, 404, 409), "an invalid refund was accepted", bad)
    before = len(shop.book())
    expect([shop.ask("/refunds", refund)[0] for _ in range(2)] == [201, 201], "it pays when asked")
    expect(len(shop.book()) == before + 2, "it honours no key", shop.book())


def when_it_is_closed(shop: Desk) -> None:
    """A closed bank reports that nothing happened, which differs from an unknown outcome."""
    shop.close()
    environment = {**shop.environment, "PERDURE_KEY": "k"}
    args = '{"order": "1042", "cents": 1}'
    codes = [subprocess.run([desk, tool], input=args, env=environment, capture_output=True, text=True).returncode
             for tool in ("refund", "verify", "order")]
    expect(codes == [75, 1, 1], "exit codes of a closed bank", codes)


with tempfile.TemporaryDirectory() as place:
    shop = Desk(place)
    try:
        kill_it_twice(shop)
        ask_the_bank(shop)
        when_it_is_closed(shop)
    finally:
        shop.close()
