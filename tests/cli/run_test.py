"""`perdure run` and `resume` as processes: killed, interrupted, held by another. run_test.py PERDURE"""

import json
import re
import signal
import socket
import sys
import unittest

from agent_folder import AgentFolder, Gate, end_of, kill
from model_server import ModelServer

PROGRAM = ""
CALL = [{"text": "I do it.", "calls": [{"name": "do", "args": {"op": "1"}}]}, {"text": "It is done."}]
DONE = "echo did >> book"


def tool(command: str, verify: str = "", **more) -> dict:
    spec = {"description": "Does it.", "command": ["/bin/sh", "-c", command], "side_effects": ["write"]} | more
    if verify:
        spec["verify"] = ["/bin/sh", "-c", verify]
    return {"do": spec}


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except FileNotFoundError:
        return False


class RunTest(unittest.TestCase):
    def setUp(self):
        self.folder = AgentFolder(PROGRAM)
        self.addCleanup(self.folder.close)
        self.gate = Gate(self.folder)

    def book(self) -> list[str]:
        path = self.folder.path / "book"
        return path.read_text().splitlines() if path.exists() else []

    def session(self) -> dict:
        return json.loads(self.folder.run("show", "@last", "--json").stdout)["session"]

    def leave_dead(self, spec: dict) -> None:
        """Leaves a run that was killed while its tool was at the gate."""
        agent = self.folder.write_agent(CALL, spec)
        process = self.folder.start("run", agent, "Do it")
        self.gate.await_arrival()
        kill(process)

    def test_an_answer_is_alone_on_stdout(self):
        agent = self.folder.write_agent([{"text": "Good day."}], {})
        said = self.folder.run("run", agent, "Hello")
        self.assertEqual((said.returncode, said.stdout), (0, "Good day.\n"), said.stderr)
        self.assertTrue(said.stderr.startswith("Session ses_"), said.stderr)
        self.assertEqual(self.session()["status"], "completed")

    def test_a_state_folder_that_is_no_whole_path_is_passed_over(self):
        self.folder.environment["XDG_STATE_HOME"] = "state"
        agent = self.folder.write_agent([{"text": "Good day."}], {})
        self.assertEqual(self.folder.run("run", agent, "Hello").returncode, 0)
        self.assertFalse((self.folder.path / "state").exists())

    def test_notes_are_files_and_an_edit_by_hand_counts(self):
        write = {"calls": [{"name": "note_write", "args": {"key": "plan", "text": "ours"}}]}
        read = {"calls": [{"name": "note_read", "args": {"key": "plan"}}]}
        agent = self.folder.write_agent(
            [write, {"text": "Noted."}, read, {"text": "I read it."}], {}, notes=True, scratchpad={"folder": "notes"}
        )
        self.assertEqual(self.folder.run("run", agent, "Note it").returncode, 0)
        [file] = self.folder.path.glob("notes/*/plan.txt")
        self.assertEqual(file.read_text(), "ours")
        file.write_text("theirs")
        said = self.folder.run("resume", "@last", "Read it")
        self.assertEqual((said.returncode, said.stdout), (0, "I read it.\n"), said.stderr)
        self.assertIn("theirs", self.folder.run("cat", "@last").stdout)
        self.assertEqual(file.read_text(), "theirs")

    def test_a_folder_of_notes_that_cannot_be_had_is_named(self):
        write = {"calls": [{"name": "note_write", "args": {"key": "plan", "text": "ours"}}]}
        agent = self.folder.write_agent([write, {"text": "Noted."}], {}, notes=True, scratchpad={"folder": "notes"})
        self.folder.write("notes", "in the way")
        said = self.folder.run("run", agent, "Note it")
        self.assertEqual((said.returncode, said.stdout), (0, "Noted.\n"), said.stderr)
        self.assertIn("The notes' folder: cannot open", said.stderr)

    def test_a_prompt_comes_from_a_pipe(self):
        agent = self.folder.write_agent([{"text": "I see."}], {})
        self.assertEqual(self.folder.run("run", agent, input="A letter\nof two lines").stdout, "I see.\n")
        self.assertEqual(self.session()["opening"], "A letter")
        self.assertEqual(self.folder.run("run", agent, "-", input="More").stdout, "I see.\n")
        self.assertEqual(self.folder.run("run", agent).returncode, 2)

    def test_bytes_of_the_model_do_not_reach_anything_raw(self):
        agent = self.folder.write_agent([{"text": "\x1b[2J\x9b31mred"}], {})
        said = self.folder.run("run", agent, "Hello")
        self.assertNotIn("\x1b", said.stdout + said.stderr)
        self.assertNotIn("\x9b", said.stdout + said.stderr)

    def test_killed_after_the_effect_it_is_verified_and_not_done_twice(self):
        self.leave_dead(tool(f"{DONE}; {self.gate.shell()}", "test -e book && cat book || exit 75"))
        self.assertEqual(self.session()["state"], "interrupted")
        said = self.folder.run("resume", "@last")
        self.assertEqual((said.returncode, said.stdout), (0, "It is done.\n"), said.stderr)
        self.assertIn("Run again: do (verifiable) is first asked whether it took effect.", said.stderr)
        self.assertEqual(self.book(), ["did"])

    def test_killed_before_the_effect_it_is_done_once(self):
        command = f"test -e second || {{ touch second; {self.gate.shell()}; }}; {DONE}"
        self.leave_dead(tool(command, "test -e book && cat book || exit 75"))
        said = self.folder.run("resume", "@last")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual(self.book(), ["did"])

    def test_whoever_takes_it_up_from_another_home_ends_what_is_left(self):
        waits = f"test -e second || {{ touch second; echo $$ > pid; {self.gate.shell()}; }}"
        self.leave_dead(tool(f"{waits}; {DONE}", "test -e book && cat book || exit 75"))
        (self.folder.path / "elsewhere").mkdir()
        self.folder.environment["HOME"] = str(self.folder.path / "elsewhere")
        said = self.folder.run("resume", "@last")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertFalse(is_alive(int((self.folder.path / "pid").read_text())))
        self.assertEqual(self.book(), ["did"])

    def test_a_restored_copy_leaves_alone_what_the_original_runs(self):
        agent = self.folder.write_agent(CALL, tool(f"{self.gate.shell()}; {DONE}", "test -e book && cat book || exit 75"))
        original = self.folder.start("run", agent, "Do it")
        self.gate.await_arrival()
        self.assertEqual(self.folder.run("backup", "copy.db").returncode, 0)
        said = self.folder.run("resume", "@last", "--store", "copy.db")
        self.assertIn(said.returncode, {7, 8}, said.stderr)
        self.assertEqual(self.book(), [])
        self.gate.open()
        self.assertEqual(end_of(original)[:2], (0, "It is done.\n"))
        self.assertEqual(self.book(), ["did"])

    def test_an_unsafe_call_is_left_in_doubt(self):
        self.leave_dead(tool(f"{DONE}; {self.gate.shell()}"))
        said = self.folder.run("resume", "@last")
        self.assertEqual((said.returncode, said.stdout), (7, ""), said.stderr)
        lines = said.stderr.splitlines()
        self.assertRegex(lines[0], r"^Recovered ses_\w+ in \d+ ms: \d+ entries, 1 step not run again\.$")
        self.assertEqual(lines[1], "Run again: nothing.")
        self.assertRegex(lines[2], r"^In doubt:  do \(unsafe\); not run again\. Settle it: perdure resolve ses_\w+:\d+ ")
        self.assertEqual(self.book(), ["did"])
        self.assertEqual(self.folder.run("verify", "@last").returncode, 7)
        self.assertEqual(self.session()["state"], "needs_attention")

    def test_a_dry_run_takes_nothing_over_and_writes_nothing(self):
        self.leave_dead(tool(f"{DONE}; {self.gate.shell()}"))
        before = self.session()
        said = self.folder.run("resume", "@last", "--dry-run", "--json")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual([each["fate"] for each in json.loads(said.stdout)["left"]], ["waits"])
        self.assertEqual(self.session(), before)

    def test_the_first_signal_stops_the_turn_and_it_can_go_on(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number):
                # Asked to stop, the program ends, and reports that nothing happened.
                first = f"trap 'exit 75' TERM; {self.gate.shell()} & wait"
                command = f"test -e second.{number} || {{ touch second.{number}; {first}; }}; {DONE}"
                agent = self.folder.write_agent(CALL, tool(command))
                process = self.folder.start("run", agent, "Do it")
                self.gate.await_arrival()
                process.send_signal(number)
                exit_code, out, err = end_of(process)
                self.assertEqual((exit_code, out), (code, ""), err)
                self.assertIn("Next: perdure resume ses_", err)
                self.assertIn(self.session()["state"], ("interrupted", "needs_attention"))

    def test_an_unsafe_call_that_was_stopped_in_the_middle_is_said_to_be_in_doubt(self):
        for stop in ("signal", "pause", "cancel"):
            with self.subTest(stop):
                agent = self.folder.write_agent(CALL, tool(f"{self.gate.shell()}"))
                process = self.folder.start("run", agent, "Do it")
                self.gate.await_arrival()
                if stop == "signal":
                    process.send_signal(signal.SIGINT)
                else:
                    self.assertIn("stops work in progress", self.folder.run(stop, "@last").stderr)
                _, _, err = end_of(process)
                self.assertIn("In doubt: do (unsafe)", err)
                settle = re.search(r"^Next: perdure resolve (ses_\w+:\d+) ", err, re.MULTILINE)
                self.assertTrue(settle, err)
                said = self.folder.run("resolve", settle[1], "--as", "failed", "--reason", "seen")
                self.assertEqual(said.returncode, 0, said.stderr)

    def test_of_a_cancelled_session_is_said_why_its_call_is_in_doubt(self):
        self.leave_dead(tool(f"{DONE}; {self.gate.shell()}"))
        self.assertIn("Next: perdure fork ses_", self.folder.run("cancel", "@last").stderr)
        said = self.folder.run("resume", "@last")
        self.assertIn("In doubt: do (unsafe); the process that ran it has ended.\n", said.stderr)
        self.assertIn("needs attention; the session is cancelled\n", self.folder.run("show", "@last").stdout)

    def test_a_watched_list_is_told_again_only_if_it_is_another_one(self):
        agent = self.folder.write_agent([{"text": "Good day."}], {})
        self.folder.run("run", agent, "Hello", "--title", "Refund order 4711")
        watching = self.folder.start("sessions", "--watch", "title:*4711*")
        told = watching.stdout.readline() + watching.stdout.readline()
        self.assertIn("Refund order 4711", told)
        self.folder.run("run", agent, "Hello", "--title", "Weekly report")
        self.folder.run("tag", "Weekly report", "again")
        self.folder.run("rename", "Refund order 4711", "Paid order 4711")
        told = watching.stdout.readline() + watching.stdout.readline()
        self.assertIn("Paid order 4711", told)

    def test_a_second_signal_leaves_at_once(self):
        # The program ignores the request to stop.
        agent = self.folder.write_agent(CALL, tool(f"trap '' TERM; {DONE}; {self.gate.shell()}", timeout="50s"))
        process = self.folder.start("run", agent, "Do it")
        self.gate.await_arrival()
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        self.assertEqual(end_of(process)[0], 130)
        self.assertEqual(self.folder.run("resume", "@last").returncode, 7)
        self.assertEqual(self.book(), ["did"])

    def test_a_session_that_another_process_runs_is_in_use(self):
        agent = self.folder.write_agent(CALL, tool(f"{self.gate.shell()}; {DONE}"))
        process = self.folder.start("run", agent, "Do it")
        self.gate.await_arrival()
        said = self.folder.run("resume", "@last")
        self.assertEqual(said.returncode, 5, said.stderr)
        self.assertIn(str(process.pid), said.stderr)
        self.assertIn("--wait 5m waits until it is given back", said.stderr)
        said = self.folder.run("resume", "@last", "--wait", "1s")
        self.assertEqual(said.returncode, 5, said.stderr)
        self.assertIn("not given back within 1", said.stderr)
        waiting = self.folder.start("resume", "@last", "--wait", "50s")
        self.gate.open()
        self.assertEqual(end_of(process)[0], 0)
        self.assertEqual(end_of(waiting)[0], 0)
        self.assertEqual(self.book(), ["did"])

    def test_an_agent_that_changed_goes_on_only_if_somebody_accepts_it(self):
        self.leave_dead(tool(f"{DONE}; {self.gate.shell()}", "test -e book && cat book || exit 75"))
        changed = tool(DONE, "test -e book && cat book || exit 75")
        agent = self.folder.write_agent(CALL, changed, system_prompt="Be kind.")
        said = self.folder.run("resume", "@last")
        self.assertEqual(said.returncode, 9, said.stderr)
        self.assertIn("--accept-changes", said.stderr)
        said = self.folder.run("resume", "@last", "--accept-changes")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("system_prompt", said.stderr)
        self.assertEqual(self.book(), ["did"])
        (self.folder.path / agent).unlink()
        said = self.folder.run("resume", "@last")
        self.assertEqual(said.returncode, 3)
        self.assertIn("--agent FILE", said.stderr)

    def test_killed_inside_a_tool_no_answer_was_lost(self):
        command = f"test -e second || {{ touch second; {self.gate.shell()}; }}; echo seen"
        self.leave_dead(tool(command, side_effects=["read"]))
        self.assertFalse(json.loads(self.folder.run("resume", "@last", "--dry-run", "--json").stdout)["asks_model_again"])
        self.assertNotIn("model", self.folder.run("resume", "@last", "--dry-run").stdout)
        said = self.folder.run("resume", "@last")
        self.assertEqual((said.returncode, said.stdout), (0, "It is done.\n"), said.stderr)
        self.assertIn("Run again: do (read_only).\n", said.stderr)

    def test_what_a_changed_agent_needs_is_what_its_file_says(self):
        for rule, words, code, done in (
            ("continue", "it continues as it is now", 0, True),
            ("ask", "it needs --accept-changes", 9, False),
            ("refuse", "its file refuses changes", 9, False),
        ):
            with self.subTest(rule):
                agent = self.folder.write_agent(CALL, {}, on_change=rule)
                self.folder.run("run", agent, "Hello", "--title", rule)
                self.folder.write_agent([{"text": "Hm."}] * 9, {}, on_change=rule, system_prompt="Be kind.")
                self.assertIn(words, self.folder.run("resume", rule, "--dry-run").stdout)
                said = self.folder.run("resume", rule, "And now?")
                self.assertEqual((said.returncode, bool(said.stdout)), (code, done), said.stderr)
                if rule == "refuse":
                    self.assertIn("--agent FILE", said.stderr)

    def test_why_it_failed_is_said_to_who_wants_to_hear_nothing(self):
        self.folder.write("failing.json", json.dumps({"responses": [{"fails": [{"code": "unavailable", "message": "it is down", "status": 503}]}]}))
        said = self.folder.run("run", "-q", "--provider", "scripted", "--model", "failing.json", "Hello")
        self.assertEqual((said.returncode, said.stdout), (1, ""))
        self.assertRegex(said.stderr, r"\Aperdure: Failed: [^\n]+\n\Z")

    def test_steps_have_the_numbers_that_the_timeline_gives_them(self):
        agent = self.folder.write_agent(CALL, tool(DONE), permissions={"write": "deny"})
        said = self.folder.run("run", agent, "Do it")
        self.assertEqual(said.returncode, 0, said.stderr)
        told = [line.split()[:2] for line in said.stderr.splitlines() if line.startswith(" 1.")]
        self.assertEqual(told, [["1.1", "model"], ["1.2", "tool"], ["1.3", "model"]], said.stderr)
        listed = json.loads(self.folder.run("timeline", "@last", "--json").stdout)["items"]
        shown = [[f"{row['turn']}.{row['step']}", row["kind"]] for row in listed if row["kind"] in ("model", "tool")]
        self.assertEqual(shown, told)

    def test_a_call_that_was_never_made_is_given_up_and_its_session_deleted(self):
        calls = [{"name": "do", "args": {"op": op}} for op in "12"]
        agent = self.folder.write_agent([{"calls": calls}, {"text": "Done."}], tool(self.gate.shell(), honours_key=True))
        process = self.folder.start("run", agent, "Do it", "--title", "both")
        self.gate.await_arrival()
        kill(process)
        first = json.loads(self.folder.run("pending", "both", "--json").stdout)["items"][0]
        self.folder.run("resolve", f"{first['session']}:{first['position']}", "--as", "failed", "--reason", "gone")
        said = self.folder.run("delete", "both", "--yes")
        self.assertEqual(said.returncode, 1, said.stderr)
        self.assertIn("was asked for and not made yet", said.stderr)
        next_command = said.stderr.split("perdure cancel ")[1].split()[0]
        self.assertEqual(self.folder.run("cancel", next_command, "--yes").returncode, 0)
        self.assertEqual(self.folder.run("delete", "both", "--yes").returncode, 0)

    def test_a_fork_says_what_is_in_doubt_where_it_came_from(self):
        self.leave_dead(tool(f"{DONE}; {self.gate.shell()}"))
        self.assertEqual(self.folder.run("resume", "@last").returncode, 7)
        parent = self.session()["id"]
        said = self.folder.run("fork", "@last", "--title", "forked")
        self.assertRegex(said.stdout, rf"{parent}:\d+  do  unsafe  is not made: its outcome is unknown, and the model is told")
        self.assertNotIn("the fork may do them again", said.stdout)
        said = self.folder.run("resume", "forked")
        self.assertIn("In doubt:  do (unsafe) in the session it was forked from; not run here.", said.stderr)
        self.assertIn(f"perdure resolve {parent}:", said.stderr)
        self.assertNotIn("In doubt:  nothing.", said.stderr)
        self.assertEqual(self.book(), ["did"])

    def test_a_fork_that_nobody_has_run_is_ready(self):
        agent = self.folder.write_agent([{"text": "Good day."}, {"text": "Again."}], {})
        self.folder.run("run", agent, "Hello", "--title", "Greeting")
        self.folder.run("fork", "Greeting@1.0", "--title", "Fresh")
        state = json.loads(self.folder.run("show", "Fresh", "--json").stdout)["session"]["state"]
        self.assertEqual(state, "ready")
        self.assertIn("Fresh", self.folder.run("sessions", "state:ready").stdout)
        self.assertEqual(self.folder.run("resume", "Fresh").returncode, 0)
        self.assertEqual(self.folder.run("show", "Fresh").stdout.count("completed"), 1)

    def serve(self, responses: list) -> ModelServer:
        server = ModelServer(responses)
        self.addCleanup(server.close)
        return server

    def write_served_agent(self, server: ModelServer, prompt: str) -> str:
        model = {"provider": "openai", "id": "small", "base_url": server.url}
        return self.folder.write_agent([], {}, model=model, system_prompt=prompt)

    def test_a_server_that_is_not_there_is_waited_for_aloud_in_every_form(self):
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))  # No server listens on this port, and no other process gets it.
            url = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
            model = {"provider": "openai", "id": "small", "base_url": url, "retry_for": "1s"}
            agent = self.folder.write_agent([], {}, model=model)
            for form in ([], ["--json"]):
                failed = self.folder.run(*form, "run", agent, "Hello")
                self.assertEqual(failed.returncode, 1, failed.stderr)
                self.assertIn("asked again in", failed.stderr)
                self.assertIn("is base_url its address?", failed.stdout if form else failed.stderr)

    def test_whoever_is_refused_is_told_what_to_look_at(self):
        for status, key, advice in (
            (401, {"key": {"env": "MY_KEY"}}, "Is the key right? It is from MY_KEY"),
            (403, {}, "It was asked without a key: does it want one?"),
            (404, {}, "Does it have a model of this name, and is base_url its address?"),
        ):
            with self.subTest(status):
                server = self.serve([{"status": status}])
                model = {"provider": "openai", "id": "small", "base_url": server.url} | key
                self.folder.environment["MY_KEY"] = "sk-4711"
                said = self.folder.run("run", self.folder.write_agent([], {}, model=model), "Hello")
                self.assertNotEqual(said.returncode, 0)
                self.assertIn(advice, said.stderr)
                self.assertNotIn("sk-4711", said.stderr)

    def test_a_fork_is_resumed_as_told_and_the_model_gets_what_was_set(self):
        server = self.serve([{"text": "Good day."}])
        agent = self.write_served_agent(server, "Be brief.")
        self.assertEqual(self.folder.run("run", agent, "Hello", "--title", "Greeting").returncode, 0)
        forked = self.folder.run("fork", "Greeting@1.0", "--set", "prompt=Be kind.", "--set", "model=large")
        next_command = forked.stderr.strip().removeprefix("Next: perdure ").split()
        said = self.folder.run(*next_command)
        self.assertEqual((said.returncode, said.stdout), (0, "Good day. \n"), said.stderr)
        asked = [(body["model"], body["messages"][0]["content"]) for body in server.requests]
        self.assertEqual(asked, [("small", "Be brief."), ("large", "Be kind.")])
        self.assertEqual(self.session()["opening"], "Hello")

    def test_a_server_of_the_environment_is_asked_and_found_again_without(self):
        server = self.serve([{"text": "Good day."}, {"text": "You are welcome."}])
        self.folder.environment["OPENAI_BASE_URL"] = server.url
        said = self.folder.run("run", "--model", "small", "Hello")
        self.assertEqual((said.returncode, said.stdout), (0, "Good day. \n"), said.stderr)
        del self.folder.environment["OPENAI_BASE_URL"]
        said = self.folder.run("resume", "@last", "Thanks")
        self.assertEqual((said.returncode, said.stdout), (0, "You are welcome. \n"), said.stderr)
        self.assertEqual([body["model"] for body in server.requests], ["small", "small"])

    def test_a_server_and_a_budget_by_option(self):
        server = self.serve([{"text": "Good day."}])
        said = self.folder.run("run", "--model", "small", "--base-url", server.url, "Hello")
        self.assertEqual(said.returncode, 0, said.stderr)
        said = self.folder.run("run", "--model", "small", "--base-url", server.url, "--budget", "2.50", "Hello")
        self.assertEqual(said.returncode, 1, said.stderr)
        self.assertIn("price", said.stderr)
        self.assertEqual(len(server.requests), 1, "a model without a price is not asked under a budget")
        agent = self.folder.write_agent([{"text": "Good day."}], {}, prices={"scripted": {"input": 1, "output": 2}})
        said = self.folder.run("run", agent, "--budget", "2.50", "Hello")
        self.assertEqual(said.returncode, 0, said.stderr)
        budget = json.loads(self.folder.run("cat", "@last", "--json", "--path", "/budget").stdout)["value"]
        self.assertEqual(budget["limit"], 2_500_000, budget)

    def test_a_dry_run_tells_what_is_open_though_the_agent_is_gone_or_runs(self):
        agent = self.folder.write_agent(CALL, tool(f"{DONE}; {self.gate.shell()}"))
        process = self.folder.start("run", agent, "Do it")
        self.gate.await_arrival()
        plan = json.loads(self.folder.run("resume", "@last", "--dry-run", "--json").stdout)
        self.assertEqual((plan["in_use"], plan["agent_error"]), (True, ""))
        kill(process)
        (self.folder.path / agent).unlink()
        said = self.folder.run("resume", "@last", "--dry-run", "--json")
        self.assertEqual(said.returncode, 0, said.stderr)
        plan = json.loads(said.stdout)
        self.assertEqual([each["fate"] for each in plan["left"]], ["waits"])
        self.assertFalse(plan["in_use"])
        self.assertIn("agent.yaml", plan["agent_error"])

    def test_a_fork_repeats_what_is_done_once_only_if_it_is_told_to(self):
        agent = self.folder.write_agent(CALL, tool(DONE, repeat="once_per_session"))
        self.assertEqual(self.folder.run("run", agent, "Do it", "--title", "First").returncode, 0)
        for title, options, done in (("Again", [], 1), ("Fresh", ["--fresh-effects"], 2)):
            self.folder.run("fork", "First@1.0", "--title", title, *options)
            said = self.folder.run("resume", title)
            self.assertEqual((said.returncode, said.stdout), (0, "It is done.\n"), said.stderr)
            self.assertEqual(self.book(), ["did"] * done, title)

    def test_what_a_fork_set_counts_until_its_agent_file_changes(self):
        server = self.serve([{"text": "Good day."}, {"text": "And you?"}])
        agent = self.write_served_agent(server, "Be brief.")
        self.folder.run("run", agent, "Hello", "--title", "Greeting")
        self.folder.run("fork", "Greeting@1.0", "--title", "Kind", "--set", "prompt=Be kind.")
        self.assertEqual(self.folder.run("resume", "Kind").returncode, 0)
        self.write_served_agent(server, "Be loud.")
        said = self.folder.run("resume", "Kind", "And now?", "--accept-changes")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual(server.requests[-1]["messages"][0]["content"], "Be loud.")


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
