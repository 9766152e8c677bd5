#!/usr/bin/env python3
"""Proves that each rule of tidy.py fires on a small bad tree and is silent on a good one."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TIDY = pathlib.Path(__file__).resolve().parent / "tidy.py"


class TidyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, path: str, text: str):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def write_source(self, path: str, code: str):
        """A source that breaks no rule except by its code."""
        self.write(path, "// What it is.\n" + code)
        parts = pathlib.PurePath(path).parts
        home = "/".join(parts[:2]) if parts[0] == "src" else parts[0]
        listing = self.root / home / "sources.cmake"
        before = listing.read_text() if listing.exists() else "# List.\n"
        self.write(f"{home}/sources.cmake", before + parts[-1] + "\n")

    def run_tidy(self) -> tuple[int, list[str]]:
        run = subprocess.run(
            [sys.executable, str(TIDY), "--root", str(self.root)], capture_output=True, text=True
        )
        self.assertEqual(run.stderr, "")
        return run.returncode, run.stdout.splitlines()[:-1]

    def expect(self, *findings: str):
        """Exactly the expected findings, each as `path:line: rule`."""
        code, lines = self.run_tidy()
        self.assertEqual([": ".join(line.split(": ")[:2]) for line in lines], list(findings))
        self.assertEqual(code, 1 if findings else 0)

    def test_a_good_tree_has_no_findings(self):
        self.write("include/perdure/core/id.hpp", "// Ids.\n#include <string>\n")
        self.write("include/perdure/store/log.hpp", '// Log.\n#include "perdure/core/id.hpp"\n')
        self.write("src/store/sqlite/connection.hpp", "// A connection.\n#include <sqlite3.h>\n")
        self.write_source("src/store/sqlite/log.cpp", '#include "sqlite/connection.hpp"\n')
        self.write("build/util.cpp", "no rule looks into the build folder")
        self.expect()

    def test_a_layer_may_not_include_one_that_uses_it(self):
        self.write("include/perdure/store/log.hpp", "// Log.\n")
        self.write_source("src/core/id.cpp", "#include <perdure/store/log.hpp>\n")
        self.write("include/perdure/core/id.hpp", '// Ids.\n\n#include "perdure/team/team.hpp"\n')
        self.expect("include/perdure/core/id.hpp:3: layer", "src/core/id.cpp:2: layer")

    def test_the_umbrella_is_for_users_alone(self):
        self.write("include/perdure/perdure.hpp", '// All.\n#include "perdure/store/log.hpp"\n')
        self.write("include/perdure/store/log.hpp", "// Log.\n#include <perdure/perdure.hpp>\n")
        self.write_source("src/core/id.cpp", "#include <perdure/perdure.hpp>\n")
        self.write("examples/first.cpp", "// First.\n#include <perdure/perdure.hpp>\n")
        self.expect("include/perdure/store/log.hpp:2: layer", "src/core/id.cpp:2: layer")

    def test_edges_do_not_know_each_other(self):
        self.write("include/perdure/agent/loop.hpp", "// Loop.\n")
        self.write("src/server/routes.hpp", "// Routes.\n")
        self.write_source("src/cli/main.cpp", '#include "server/routes.hpp"\n#include <perdure/agent/loop.hpp>\n')
        self.expect("src/cli/main.cpp:2: layer")

    def test_private_headers_stay_in_their_layer(self):
        self.write("src/core/scan.hpp", "// Scan.\n")
        self.write_source("src/store/open.cpp", '#include "core/scan.hpp"\n#include "../core/scan.hpp"\n')
        self.expect("src/store/open.cpp:2: layer", "src/store/open.cpp:3: layer")

    def test_what_layers_share_is_in_the_folder_api(self):
        self.write("src/core/scan.hpp", "// Scan.\n")
        self.write("src/core/api/text.hpp", '// Text.\n#include "scan.hpp"\n')
        self.write("include/perdure/store/open.hpp", '// Open.\n#include "core/api/text.hpp"\n')
        self.write_source("src/store/open.cpp", '#include "core/api/text.hpp"\n')
        self.write_source("src/core/scan.cpp", '#include "scan.hpp"\n')
        self.expect("include/perdure/store/open.hpp:2: layer", "include/perdure/store/open.hpp:2: public",
                    "src/core/api/text.hpp:2: layer")  # fmt: skip

    def test_the_product_does_not_include_the_adapters(self):
        self.write("include/perdure/adapters/saver.hpp", "// Savers.\n")
        self.write("include/perdure/agent/loop.hpp", "// Loop.\n")
        self.write_source("src/adapters/a.cpp", "#include <perdure/adapters/saver.hpp>\n#include <perdure/agent/loop.hpp>\n")
        self.write_source("src/cli/main.cpp", "#include <perdure/adapters/saver.hpp>\n")
        self.write_source("src/runtime/b.cpp", "#include <perdure/adapters/saver.hpp>\n")
        self.expect("src/adapters/a.cpp:3: layer", "src/cli/main.cpp:2: layer", "src/runtime/b.cpp:2: layer")

    def test_memory_and_sqlite_do_not_know_each_other(self):
        self.write("src/store/sqlite/schema.hpp", "// Schema.\n")
        self.write("src/store/memory/model.hpp", '// Model.\n#include "sqlite/schema.hpp"\n')
        self.write_source("src/store/sqlite/open.cpp", '#include "memory/model.hpp"\n')
        self.expect(
            "src/store/memory:1: cycle",
            "src/store/memory/model.hpp:2: layer",
            "src/store/sqlite:1: cycle",
            "src/store/sqlite/open.cpp:2: layer",
        )

    def test_public_headers_include_no_third_party(self):
        self.write("include/perdure/core/id.hpp", "// Ids.\n#include <fmt/core.h>\n#include <sqlite3.h>\n")
        self.expect("include/perdure/core/id.hpp:2: public", "include/perdure/core/id.hpp:3: public")

    def test_names_that_say_nothing_are_banned(self):
        self.write_source("src/core/json_utils.cpp", "")
        self.write_source("src/core/helpers/x.cpp", "")
        self.expect("src/core/helpers/x.cpp:1: name", "src/core/json_utils.cpp:1: name")

    def test_words_of_unfinished_work_are_banned(self):
        self.write_source("src/core/a.cpp", "// " + "TODO: finish\n")
        self.write("scripts/b", "#!/bin/sh\n# " + "FIXME\nmktemp XXXXXX\n")
        self.expect("scripts/b:2: word", "src/core/a.cpp:2: word")

    def test_time_and_chance_come_by_constructor(self):
        calls = ["std::chrono::system_clock::now();", "std::chrono::steady_clock::now();"]
        calls += ["std::random_device seed;", "std::this_thread::sleep_for(1s);", "usleep(5);", 'getenv("X");']
        self.write_source("src/store/a.cpp", "\n".join(calls) + "\n")
        self.expect(*[f"src/store/a.cpp:{line}: call" for line in range(2, 8)])

    def test_banned_calls_may_be_talked_about_and_have_a_home(self):
        self.write_source("src/store/a.cpp", '// not usleep() here\nauto s = "usleep()"; /* getenv\n */\n')
        self.write_source("src/core/time.cpp", "auto t = steady_clock::now();\n")
        self.expect()

    def test_a_file_opens_with_a_comment(self):
        self.write("include/perdure/core/id.hpp", "#pragma once\n")
        self.write("tools/x.py", "#!/usr/bin/env python3\nimport sys\n")
        self.write("cmake/x.cmake", "set(a b)\n")
        self.expect(
            "cmake/x.cmake:1: opening", "include/perdure/core/id.hpp:1: opening", "tools/x.py:1: opening"
        )

    def test_files_have_ceilings(self):
        self.write("include/perdure/core/id.hpp", "// Ids.\n" * 400)
        self.write("include/perdure/core/time.hpp", "// Time.\n" * 401)
        self.write_source("src/core/a.cpp", "//\n" * 1000)
        self.write_source("src/core/a_test.cpp", "//\n" * 999)
        self.write_source("tests/b_test.cpp", "//\n" * 1000)
        self.expect(
            "include/perdure/core/time.hpp:1: size", "src/core/a.cpp:1: size", "tests/b_test.cpp:1: size"
        )

    def test_white_space(self):
        self.write_source("src/core/a.cpp", "\tint x;\nint y; \nint z;")
        self.write("Makefile", "# Make.\nall:\n\ttrue\n")
        self.expect(
            "src/core/a.cpp:2: space", "src/core/a.cpp:3: space", "src/core/a.cpp:4: space"
        )

    def test_the_promise_is_small(self):
        for number in range(35):
            self.write(f"include/perdure/core/part_{number}.hpp", "// A part.\nclass Part {\n};\n" * 40)
        self.expect("include/perdure:1: headers", "include/perdure:1: promise")

    def test_a_third_of_the_promise_is_comments(self):
        self.write("include/perdure/core/id.hpp", "// Ids.\n" * 29 + "struct Id;\n" * 71)
        self.expect("include/perdure:1: comments")

    def test_an_example_uses_something_of_every_public_header(self):
        self.write("include/perdure/core/id.hpp", "// Ids.\nstruct Id {};\n")
        self.write("include/perdure/core/name.hpp", "// Names.\n[[nodiscard]] bool is_name(int text);\n")
        self.write("include/perdure/core/time.hpp", "// Time.\nstruct Id;\nusing Time = int;\n")
        self.write("examples/first.cpp", "// First. Time\nId id = is_name(1);\n")
        self.expect("include/perdure/core/time.hpp:1: unused")

    def test_a_seam_has_at_most_eight_methods(self):
        method = "  virtual Result<int> f(int a) = 0;\n"
        self.write("include/perdure/store/a.hpp", "// A.\nclass A {\n" + method * 9 + "};\n")
        doors = "  virtual A& a() = 0;\n" * 5 + "  virtual ~B() = 0;\n"
        self.write("include/perdure/store/b.hpp", "// B.\nclass B : C {\n" + doors + method * 8 + "};\n")
        self.expect("include/perdure/store/a.hpp:2: seam")

    def test_the_roles_of_the_store_have_at_most_45_methods_together(self):
        method = "  virtual Result<int> f(int a) = 0;\n"
        for name in "abcdef":
            self.write(f"include/perdure/store/{name}.hpp", "// A.\nclass A {\n  virtual ~A();\n" + method * 7 + "};\n")
        self.expect()
        self.write("include/perdure/store/g.hpp", "// G.\nclass G {\n" + method * 4 + "};\n")
        self.expect("include/perdure/store:1: seam")

    def test_every_source_is_listed(self):
        self.write("src/core/a.cpp", "// A.\n")
        self.write_source("src/core/aa.cpp", "")
        self.write("tests/crash/kill_test.cpp", "// Kill.\n")
        self.expect("src/core/a.cpp:1: listed", "tests/crash/kill_test.cpp:1: listed")

    def test_folders_of_a_layer_do_not_include_each_other_in_a_circle(self):
        self.write("src/core/b.hpp", "// B.\n")
        self.write("src/core/json/j.hpp", "// J.\n")
        self.write("src/core/text/t.hpp", "// T.\n")
        self.write_source("src/core/a.cpp", '#include "json/j.hpp"\n#include "text/t.hpp"\n')
        self.write_source("src/core/json/x.cpp", '#include "json/j.hpp"\n#include "text/t.hpp"\n')
        self.write_source("src/core/text/x_test.cpp", '#include "json/j.hpp"\n#include "b.hpp"\n')
        self.expect()
        self.write_source("src/core/text/y.cpp", '#include "b.hpp"\n')
        lines = self.run_tidy()[1]
        knot = "a cycle of src/core, src/core/json, src/core/text"
        for place in [
            "src/core:1: cycle: src/core/a.cpp:2 includes json/j.hpp",
            "src/core:1: cycle: src/core/a.cpp:3 includes text/t.hpp",
            "src/core/json:1: cycle: src/core/json/x.cpp:3 includes text/t.hpp",
            "src/core/text:1: cycle: src/core/text/y.cpp:2 includes b.hpp",
        ]:
            self.assertIn(f"{place}; {knot}", lines)
        self.assertEqual(len(lines), 4)

    def test_a_folder_has_at_most_forty_product_files(self):
        for number in range(40):
            self.write(f"src/core/a{number}.hpp", "// A.\n")
        self.write_source("src/core/a_test.cpp", "")
        self.write_source("src/core/fixture.cpp", "")
        self.write("src/core/a.sql", "-- A.\n")
        self.expect()
        self.write("src/core/b.hpp", "// B.\n")
        self.expect("src/core:1: folder")
        self.write("tools/tidy_allow.txt", "folder src/core 41 it is being cut\n")
        self.expect()

    def test_an_allowed_file_may_not_grow(self):
        self.write("tools/tidy_allow.txt", "size src/core/a.cpp 1010 it is a table\n")
        self.write_source("src/core/a.cpp", "//\n" * 1009)
        self.expect()
        self.write("src/core/a.cpp", "//\n" * 1011)
        self.expect("src/core/a.cpp:1: size", "tools/tidy_allow.txt:1: allow")

    def test_allowed_findings_are_counted(self):
        self.write("tools/tidy_allow.txt", "call tests/b_test.cpp 1 real processes have real time\n")
        self.write_source("tests/b_test.cpp", "usleep(1);\n")
        self.expect()
        self.write("tests/b_test.cpp", "// B.\nusleep(1);\nusleep(1);\n")
        self.expect("tests/b_test.cpp:2: call", "tests/b_test.cpp:3: call", "tools/tidy_allow.txt:1: allow")

    def test_an_allowance_nobody_needs_must_go(self):
        self.write("tools/tidy_allow.txt", "# Why.\nsize src/core/a.cpp 1010 it was a table\nsize b\n")
        self.write_source("src/core/a.cpp", "")
        self.expect("tools/tidy_allow.txt:2: allow", "tools/tidy_allow.txt:3: allow")


if __name__ == "__main__":
    unittest.main()
