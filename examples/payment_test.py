"""Kills the payment after the charge, and before it; the bank has one charge either way. payment_test.py PROGRAM."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else pathlib.Path()


class Payment(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.bank = self.folder / "bank.txt"

    def run_it(self, *words: str) -> tuple[int, str]:
        done = subprocess.run([PROGRAM, *words], cwd=self.folder, capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout

    def charges(self) -> list[str]:
        return [line.split(" ", 1)[1] for line in self.bank.read_text(encoding="utf-8").splitlines()]

    def expect_one_charge_for_ever(self):
        self.assertEqual(self.run_it(), (0, "calls verified: 0\npay: succeeded\n"))
        self.assertEqual(self.charges(), ['{"invoice":7,"cents":1999}'])

    def test_killed_between_the_charge_and_its_record_it_asks_the_bank(self):
        self.assertEqual(self.run_it("die"), (-signal.SIGKILL, "calls verified: 0\ncharging\n"))
        self.assertEqual(self.run_it(), (0, "asking the bank\ncalls verified: 1\npay: succeeded\n"))
        self.expect_one_charge_for_ever()

    def test_killed_before_the_charge_it_asks_the_bank_and_charges(self):
        os.mkfifo(self.bank)  # Opening it for writing waits for a reader: the tool runs, the charge was not made yet.
        with subprocess.Popen([PROGRAM], cwd=self.folder, stdout=subprocess.PIPE, text=True) as process:
            said = [process.stdout.readline(), process.stdout.readline()]
            process.send_signal(signal.SIGKILL)
        self.assertEqual(said, ["calls verified: 0\n", "charging\n"])
        self.bank.unlink()

        self.assertEqual(self.run_it(), (0, "asking the bank\ncharging\ncalls verified: 1\npay: succeeded\n"))
        self.expect_one_charge_for_ever()


if __name__ == "__main__":
    unittest.main()
