"""The log of a run: one JSON object per line, from which all tables and plots are made."""

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from regard.errors import Failed
from regard.files import is_open_as, write_bytes

Record = dict[str, Any]


class Log:
    """Append records to log.jsonl. Each belongs to a step; a resumed run removes those after its checkpoint."""

    def __init__(self, path: Path, step: int, *, owed: bool = False) -> None:
        """Open the log at `step`; remove later records, and a validation that is `owed`, which will be logged again."""
        if path.exists():
            again = (step, "validation") if owed else None
            kept = [
                json.dumps(record, ensure_ascii=False)
                for record in records(path)
                if record["step"] <= step and (record["step"], record.get("event")) != again
            ]
            write_bytes(path, "".join(line + "\n" for line in kept).encode())
        self._path, self._file = path, path.open("a", encoding="utf-8")

    def append(self, record: Record) -> None:
        if not is_open_as(self._file.fileno(), self._path):
            raise Failed(
                f"{self._path}: was removed, moved or replaced while its run was under way; "
                "put the run's folder back and run the same command again to go on from its newest checkpoint"
            )
        plain = {key: None if _is_no_number(value) else value for key, value in record.items()}  # JSON has no NaN
        with self._disk():
            self._file.write(json.dumps(plain, ensure_ascii=False) + "\n")
            self._file.flush()

    def sync(self) -> None:
        """Flush the log to disk, so that it survives a power cut."""
        with self._disk():
            os.fsync(self._file.fileno())

    @contextmanager
    def _disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise Failed(f"{self._file.name}: {error.strerror}; make room, and run the same command again") from error

    def close(self) -> None:
        with suppress(OSError):  # an error of a full disk was reported already
            self._file.close()


def _is_no_number(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def records(path: Path) -> Iterator[Record]:
    """Yield the records of a log; a last line that a killed process left incomplete is skipped."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            if isinstance(record, dict) and isinstance(record.get("step"), int):
                yield record
