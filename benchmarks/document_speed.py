"""Time and memory for a long .docx beside plain text of the same words.

    python benchmarks/document_speed.py [--json] [--pages 200] [--model en-de] [--bold 0.2]

Three files of the same sentences are translated with `regard.translate_file`, each in a process of its own, one after
the other: .txt; .docx without formatting inside of paragraphs; .docx with a bold word in a share of the paragraphs.
Those need an alignment, which is computed sentence by sentence. Processor time is what the process and its threads
used; memory is the largest that it was. Without a model (`--model none`) the texts come back as they are, which shows
what the documents cost alone.
"""

import argparse
import io
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

WORDS_PER_PAGE = 400
WHO = ["The old woman", "A young man", "The teacher", "My sister", "A tall policeman", "The girl with the red hat"]
DOES = ["sees", "buys", "finds", "counts", "is looking for", "carries", "paints", "remembers"]
WHAT = ["apples", "books", "small trees", "bicycles", "words", "questions", "green bottles", "windows", "letters"]
WHERE = ["in the garden", "at the market", "near the station", "in the snow", "on the street", "behind the house"]
SPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override '
    'PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.'
    'document.main+xml"/></Types>'
)


def paragraphs(pages: int) -> list[str]:
    """Paragraphs of five sentences, hardly any twice; always the same."""
    draw = random.Random(1)
    found: list[str] = []
    words = 0
    while words < pages * WORDS_PER_PAGE:
        sentences = []
        for _ in range(5):
            count = draw.randrange(2, 9999)
            sentences.append(
                f"{draw.choice(WHO)} {draw.choice(DOES)} {count} {draw.choice(WHAT)} {draw.choice(WHERE)}."
            )
        found.append(" ".join(sentences))
        words += len(found[-1].split())
    return found


def run(text: str, look: str = "") -> str:
    """A run as Word writes it, with the number of the editing session, and cut in the middle of a word."""
    head = f'<w:r w:rsidR="00A1B2C3"><w:rPr><w:rFonts w:ascii="Arial"/>{look}<w:sz w:val="22"/></w:rPr>'
    return f'{head}<w:t xml:space="preserve">{text}</w:t></w:r>'


def docx(texts: list[str], bold: float) -> bytes:
    draw = random.Random(2)
    body = []
    for text in texts:
        cut = len(text) // 2
        if draw.random() < bold:
            first, word, rest = text.split(" ", 2)
            content = run(f"{first} ") + run(word, "<w:b/>") + run(f" {rest}")
        else:
            content = run(text[:cut]) + '<w:proofErr w:type="spellStart"/>' + run(text[cut:])
        body.append(f'<w:p w:rsidR="00A1B2C3"><w:pPr><w:spacing w:after="120"/></w:pPr>{content}</w:p>')
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("[Content_Types].xml", TYPES)
        document = f'<w:document xmlns:w="{SPACE}"><w:body>{"".join(body)}</w:body></w:document>'
        file.writestr("word/document.xml", document)
    return out.getvalue()


def work(path: Path, model: str) -> dict[str, Any]:
    """Translate one file in this process."""
    from regard.documents.segment import Translated
    from regard.documents.translate import translate_document
    from regard.saved.bundled import bundled
    from regard.translate.document import translate_file
    from regard.translate.load import load

    before, start = time.process_time(), time.perf_counter()
    if model == "none":
        done = translate_document(
            path.read_bytes(), path.name, lambda found: [Translated(segment.text.upper()) for segment in found]
        )
        report = done.report
    else:
        translator = load(bundled().get(model, Path(model)))
        before, start = time.process_time(), time.perf_counter()
        report = translate_file(path, model=translator, out=path.with_name(f"out{path.suffix}"), force=True)
    return {
        "texts": report.texts,
        "seconds": round(time.perf_counter() - start, 2),
        "processor_seconds": round(time.process_time() - before, 2),
        "megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def measured(path: Path, model: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--work", str(path), "--model", model]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--bold", type=float, default=0.2)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        print(json.dumps(work(Path(given.work), given.model)))
        return
    texts = paragraphs(given.pages)
    with tempfile.TemporaryDirectory() as folder:
        files = {
            "plain.txt": "\n\n".join(texts).encode(),
            "one.docx": docx(texts, 0),
            "bold.docx": docx(texts, given.bold),
        }
        found = {}
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
            found[name] = measured(Path(folder) / name, given.model)
    plain = found["plain.txt"]
    for one in found.values():
        one["time_ratio"] = round(one["processor_seconds"] / max(plain["processor_seconds"], 0.01), 2)
        one["memory_ratio"] = round(one["megabytes"] / plain["megabytes"], 2)
    if given.json:
        print(json.dumps({"pages": given.pages, "words": sum(len(text.split()) for text in texts), **found}))
        return
    for name, one in found.items():
        print(f"{name:10}", *(f"{key} {value}" for key, value in one.items()), sep="  ")


if __name__ == "__main__":
    main()
