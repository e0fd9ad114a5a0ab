r"""The life of a correction over HTTP: a wrong answer, corrected, answered, tuned over, and served by the new model.

    python benchmarks/correction_life.py --text text/train.en-de.tsv --sentences text/test.en \
        --references text/test.de.0

It starts `regard serve` with a copy of the bundled model and a memory, corrects five sentences, tunes the model with
its own translations of other text mixed in, puts the new model in place, sends SIGHUP, and asks without the memory's
pairs.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from regard.memory.store import Memory
from regard.saved.saved_model import model_folder

CORRECTIONS = {
    "The quarterly flange report is overdue.": "Der Flanschbericht des Quartals ist überfällig.",
    "Please tighten the flange.": "Bitte ziehen Sie den Flansch fest.",
    "Where is the flange?": "Wo ist der Flansch?",
    "Two flanges are broken.": "Zwei Flansche sind kaputt.",
    "She bought a new flange yesterday.": "Sie hat gestern einen neuen Flansch gekauft.",
}


def post(port: int, path: str, fields: dict[str, Any]) -> Any:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", json.dumps(fields).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def asked(port: int) -> list[str]:
    fields = {"q": list(CORRECTIONS), "source": "en", "target": "de"}
    found: list[str] = post(port, "/translate", fields)["translatedText"]
    return found


def right(answers: list[str]) -> int:
    return sum(one == wanted for one, wanted in zip(answers, CORRECTIONS.values(), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, required=True, help="TSV whose first column is mixed in")
    parser.add_argument("--sentences", type=Path, required=True)
    parser.add_argument("--references", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()
    told: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(model_folder("en-de"), folder / "model")
        lines = arguments.text.read_text(encoding="utf-8").split("\n")[: arguments.lines]
        (folder / "text.txt").write_text("\n".join(line.split("\t")[0] for line in lines), encoding="utf-8")
        for option, path in (("source", arguments.sentences), ("reference", arguments.references)):
            (folder / option).write_text("\n".join(path.read_text().split("\n")[:300]) + "\n")
        regard = [sys.executable, "-m", "regard"]
        command = [*regard, "serve", "--model", "model", "--memory", "work.db", "--port", "0"]
        with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as server:
            try:
                assert server.stderr is not None
                port = int(re.findall(r":(\d+)/", server.stderr.readline())[0])
                told["right_before"] = right(asked(port))
                for text, translation in CORRECTIONS.items():
                    post(port, "/corrections", {"q": text, "translation": translation, "source": "en", "target": "de"})
                told["right_when_corrected"] = right(asked(port))
                tuning = [*regard, "tune", "--model", "model", "--memory", "work.db", "--out", "tuned", "--json"]
                tuning += ["--text", "text.txt", "--source", "source", "--reference", "reference"]
                tuning += ["--steps", str(arguments.steps), "--to", "de"]
                begun = time.perf_counter()
                done = subprocess.run(tuning, cwd=folder, check=True, capture_output=True, text=True)
                told["tune"] = json.loads(done.stdout.splitlines()[-1])
                told["tune_seconds"] = round(time.perf_counter() - begun)
                (folder / "model").rename(folder / "old")
                (folder / "tuned" / "model").rename(folder / "model")
                with Memory(folder / "work.db") as memory:
                    memory.remove([pair.id for pair in memory.entries()])
                told["right_without_memory_old_model"] = right(asked(port))
                os.kill(server.pid, signal.SIGHUP)
                assert any("reloaded the models" in line for line in iter(server.stderr.readline, ""))
                told["right_without_memory_new_model"] = right(asked(port))
            finally:
                server.terminate()
                server.stderr.close()
    print(json.dumps(told))


if __name__ == "__main__":
    main()
