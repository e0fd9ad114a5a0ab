"""Atomic file writes, directory manifests with checksums, and lock files for a single writer."""

import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.errors import UserError

MANIFEST = "manifest.json"
CHUNK = 1 << 20
JSON_LIMIT = 16 << 20  # bytes; no JSON file that regard writes comes near it
TEXT_LIMIT = 16 << 20  # bytes of a run file or a model card

# What the user can do about a place that could not be written to, by errno.
_REMEDIES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "make room there"),
    **dict.fromkeys((errno.EACCES, errno.EPERM), "change the permissions there"),
    errno.EROFS: "mount it for writing",
    errno.ENOTDIR: "move the file away that stands where a folder is needed",
    errno.ENOENT: "put back what was removed or moved under way",
}


def sync_directory(directory: Path) -> None:
    """Flush a directory to disk, so that the names in it survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically: a reader sees the old content or the new, never a part.

    A symbolic link is followed and kept; a device or a pipe is written to directly.
    """
    path = path.absolute()
    if path.parent == Path("/dev") or (path.exists() and not path.is_file()):
        with path.open("wb") as file:
            file.write(content)
        return
    path = path.resolve()
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def write_json(path: Path, value: Any) -> None:
    write_bytes(path, (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode())


def read_bytes(path: Path, most: int, *, pipe: bool = False) -> bytes:
    """Read a file of at most `most` bytes; raise UserError if it is longer, or a device, or a pipe unless `pipe`."""
    try:
        if not pipe and path.exists() and not path.is_file():
            raise UserError(f"{path}: is no file; restore it from a copy")
        with path.open("rb") as file:
            content = file.read(most + 1)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; is {path.parent} the folder you meant?") from None
    except NotADirectoryError:
        raise UserError(f"{path.parent}: is a file where a folder is expected") from None
    if len(content) > most:
        raise UserError(f"{path}: more than {most:,} bytes, which is too large; restore it from a copy")
    return content


def read_text(path: Path, *, pipe: bool = False) -> str:
    """Read a UTF-8 text file of at most TEXT_LIMIT bytes; raise UserError if it is not one."""
    try:
        return read_bytes(path, TEXT_LIMIT, pipe=pipe).decode()
    except UnicodeDecodeError:
        raise UserError(f"{path}: not UTF-8 text; convert the file to UTF-8 first") from None


def read_json(path: Path) -> Any:
    """Read a JSON file that regard wrote; raise UserError with its name if it is not valid JSON."""
    content = read_bytes(path, JSON_LIMIT)
    try:
        return json.loads(content.decode())
    except (ValueError, RecursionError) as error:  # ValueError: no JSON or UTF-8, or a number of thousands of digits
        raise UserError(f"{path}: not valid JSON ({error}); restore the file or make it again") from None


def sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(CHUNK):
            digest.update(block)
    return digest.hexdigest()


def _inside(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file() and path != directory / MANIFEST)


def write_manifest(directory: Path) -> None:
    """Write a manifest with the size and SHA-256 of every file below a directory."""
    files = {
        path.relative_to(directory).as_posix(): {"size": path.stat().st_size, "sha256": sha256(path)}
        for path in _inside(directory)
    }
    write_json(directory / MANIFEST, {"files": files})


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("size"), int) and isinstance(entry.get("sha256"), str)


def read_manifest(directory: Path) -> dict[str, Any]:
    """Return the recorded size and SHA-256 of every file below a directory."""
    manifest = read_json(directory / MANIFEST)
    entries = manifest.get("files") if isinstance(manifest, dict) else None
    if not isinstance(entries, dict) or not entries or not all(map(_is_entry, entries.values())):
        raise UserError(f"{directory / MANIFEST}: does not list any files; restore the folder from a copy")
    return entries


def check_manifest(directory: Path, *, contents: bool = True, needed: Collection[str] = ()) -> None:
    """Raise UserError unless every file has the size and, if `contents`, the checksum recorded in the manifest.

    The files in `needed` must be listed.
    """
    entries = read_manifest(directory)
    if missing := sorted(set(needed) - set(entries)):
        raise UserError(f"{directory / MANIFEST}: does not list {missing[0]}; restore the folder from a copy")
    for name, entry in entries.items():
        path = directory / name
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise UserError(
                f"{directory / MANIFEST}: names a file outside its folder ({name[:200]}); do not use this folder"
            )
        if not _is_file(path):
            raise UserError(
                f"{directory / name[:200]}: missing, though the manifest lists it; restore the folder from a copy"
            )
        if path.stat().st_size != entry["size"]:
            raise UserError(
                f"{path}: {path.stat().st_size:,} bytes where the manifest says {entry['size']:,}; "
                "the file was changed or cut; restore it from a copy"
            )
        if contents and sha256(path) != entry["sha256"]:
            raise UserError(f"{path}: its bytes differ from the manifest's checksum; restore it from a copy")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that the file system rejects
        return False


@contextmanager
def whole_directory(final: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield a temporary directory that is renamed to `final`, with a manifest, on exit; it is removed on an error.

    Leftovers of an earlier, killed attempt are removed first. With `replace`, an existing directory is moved aside and
    removed only after the new one is in place; if its files are the same, it is kept, with everything else in it.
    """
    final = final.absolute()
    final.parent.mkdir(parents=True, exist_ok=True)
    temporary = final.with_name(f".{final.name}.partial")
    restore_directory(final)
    if final.exists() and not replace:
        raise UserError(f"{final}: exists already; choose another place or remove it first")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
        for path in _inside(temporary):
            path.chmod(temporary.stat().st_mode & 0o666)  # some libraries write files that nobody else may read
            with path.open("rb") as file:
                os.fsync(file.fileno())
        write_manifest(temporary)
        for folder in [path for path in temporary.rglob("*") if path.is_dir()]:
            sync_directory(folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    if _holds_the_same(final, temporary):
        shutil.rmtree(temporary)
        return
    _put_in_place(temporary, final)


def _put_in_place(temporary: Path, final: Path) -> None:
    """Rename a directory to its final name; an existing one is moved aside and removed once the new name is on disk.

    At every moment the old or the new directory is whole: under its name, or as `.NAME.old`, which restore_directory
    finds. It is renamed once more before its files are removed, so that a directory named `.old` is never half removed.
    """
    aside, removed = _aside(final), final.with_name(f".{final.name}.removed")
    shutil.rmtree(removed, ignore_errors=True)
    if aside.exists():  # left by an attempt that was killed after the new one was in place
        aside.rename(removed)
        shutil.rmtree(removed, ignore_errors=True)
    try:
        if final.exists():
            final.rename(aside)
        temporary.rename(final)
    except BaseException:
        restore_directory(final)
        raise
    sync_directory(final.parent)  # before the old one is removed: a power cut must not lose both
    if aside.exists():
        aside.rename(removed)
        shutil.rmtree(removed, ignore_errors=True)


def _aside(final: Path) -> Path:
    return final.with_name(f".{final.name}.old")


def restore_directory(final: Path) -> None:
    """Undo a replacement that was interrupted after moving the old directory aside and before renaming the new one."""
    if _aside(final).exists() and not final.exists():
        _aside(final).rename(final)
        sync_directory(final.parent)


def replaced_in(folder: Path) -> list[Path]:
    """Return the directories in a folder whose replacement was interrupted, at whatever moment."""
    return [path.with_name(path.name[1 : -len(".old")]) for path in folder.glob(".*.old") if path.is_dir()]


def _holds_the_same(directory: Path, other: Path) -> bool:
    """Return whether a directory is complete and has the same manifest as another."""
    manifest = directory / MANIFEST
    if not manifest.is_file() or manifest.read_bytes() != (other / MANIFEST).read_bytes():
        return False
    try:
        check_manifest(directory)
    except UserError:
        return False
    return True


@contextmanager
def new_directory(final: Path, *, replace: bool = False) -> Iterator[Path]:
    """Hold the writer's lock around whole_directory, and raise UserError if the disk is full or not writable."""
    check_link(final)
    with disk_mistakes(final), one_writer(final), whole_directory(final, replace=replace) as temporary:
        yield temporary


@contextmanager
def one_writer(final: Path) -> Iterator[None]:
    """Reject a second process that would write to the same place, under any name; the lock ends with its process."""
    final = final.resolve()
    final.parent.mkdir(parents=True, exist_ok=True)
    message = f"{final}: another regard process is writing here; wait for it or choose another place"
    with locked(final.with_name(f".{final.name}.lock"), message):
        yield


@contextmanager
def locked(lock: Path, message: str) -> Iterator[None]:
    """Hold a lock file and remove it on exit; raise UserError with `message` if another process holds it."""
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = is_open_as(file.fileno(), lock)
        except BlockingIOError:
            held = False
        if not held:  # locked by another process, or removed by one that finished between our open and our lock
            raise UserError(message)
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def is_open_as(descriptor: int, path: Path) -> bool:
    """Return whether a path still names the open file, which was not removed, moved or replaced."""
    try:
        named = path.stat()
    except OSError:
        return False
    return os.path.samestat(named, os.fstat(descriptor))


def check_link(path: Path) -> None:
    """Reject a broken symbolic link, such as one to a disk that is not mounted."""
    if path.is_symlink() and not path.exists():
        raise UserError(
            f"{path}: is a link to {path.readlink()}, which does not exist; "
            "mount that disk or make that folder, or choose another place"
        )


def check_place(path: Path) -> None:
    """Reject a path that could not be written to, before any work is done for it."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise UserError(f"{path}: there is no folder {path.parent}; make it first, or choose another place")
    if path.is_dir():
        raise UserError(f"{path}: is a folder; name a file in it")
    if not os.access(path if path.exists() and not path.is_file() else folder, os.W_OK):
        raise UserError(f"{path}: may not be written; change the permissions there, or choose another place")


@contextmanager
def disk_mistakes(out: Path) -> Iterator[None]:
    """Raise UserError for a full disk or a place that is not writable."""
    try:
        yield
    except OSError as error:
        if error.errno not in _REMEDIES or error.errno == errno.ENOENT:  # ENOENT may be about an input
            raise
        raise UserError(f"{out}: {error.strerror}; {remedy(error)}, or choose another place") from None


def remedy(error: OSError) -> str:
    """Return a remedy for a place that could not be written to."""
    return _REMEDIES.get(error.errno or 0, "see to the disk")
