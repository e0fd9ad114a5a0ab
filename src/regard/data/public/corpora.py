"""Public corpora by name: the catalogue (corpora.toml), those on this machine, and their download.

A downloaded corpus is a folder with text aligned by line and `corpus.json`, which describes it. Only `get` downloads.
"""

import os
import shutil
import tomllib
from functools import cache
from importlib.resources import files as resources
from pathlib import Path
from typing import Annotated

from pydantic import Field

from regard import files
from regard.config.checked import Frozen, check, nearest
from regard.data.public import texts
from regard.data.public.download import DownloadProgress, Remote, download
from regard.data.public.texts import CorpusPart, SplitName
from regard.data.public.unpack import unpack
from regard.errors import UserError

DESCRIPTION = "corpus.json"
DOWNLOADS = "downloads"


class PublicCorpus(Frozen):
    """A published corpus."""

    languages: tuple[str, str]
    about: str
    home: str
    licence: str
    pairs: int
    """Approximate number of training pairs."""
    parts: Annotated[tuple[CorpusPart, ...], Field(min_length=1)]

    @property
    def downloads(self) -> list[str]:
        """Return the names of the files that it is made from."""
        return list(dict.fromkeys(side.partition("/")[0] for part in self.parts for side in part.sides))


class PublicTreebank(Frozen):
    """A published treebank, which a person has to obtain by hand."""

    language: str
    about: str
    home: str
    licence: str
    trees: int
    """Approximate number of training trees."""
    how: str
    """Instructions for obtaining it as files of trees."""


class Catalogue(Frozen):
    """All corpora, the files that they share, and treebanks."""

    files: dict[str, Remote]
    corpora: dict[str, PublicCorpus]
    treebanks: dict[str, PublicTreebank] = Field(default_factory=dict)

    def find(self, name: str) -> PublicCorpus:
        if name in self.treebanks:
            treebank = self.treebanks[name]
            raise UserError(
                f"{name} is a treebank, which you get by hand from {treebank.home} (licence: {treebank.licence}): "
                f"{treebank.how}; then: regard prepare --task parsing --train train.mrg --valid valid.mrg"
            )
        if name not in self.corpora:
            hint = nearest(name, [*self.corpora, *self.treebanks]) or "; `regard corpora` lists them"
            raise UserError(f"no public corpus is called {name!r}{hint}")
        return self.corpora[name]

    def size(self, name: str) -> int | None:
        """Return the bytes to download, or None unless the size of every file is published."""
        sizes = [self.files[file].size for file in self.find(name).downloads]
        return None if None in sizes else sum(size for size in sizes if size is not None)


@cache
def catalogue() -> Catalogue:
    """Return the contents of corpora.toml."""
    content = tomllib.loads((resources("regard.data.public") / "corpora.toml").read_text(encoding="utf-8"))
    return check(Catalogue, content, "corpora.toml")


def home() -> Path:
    """Return the folder of all corpora: corpora/ in $REGARD_CACHE, or in regard/ of the user's cache."""
    if own := os.environ.get("REGARD_CACHE"):
        return Path(own).expanduser() / "corpora"
    general = os.environ.get("XDG_CACHE_HOME")
    return (Path(general) if general and Path(general).is_absolute() else Path.home() / ".cache") / "regard" / "corpora"


def is_here(name: str) -> bool:
    return (home() / name / DESCRIPTION).is_file()


def get(name: str, to: Path | None = None, progress: DownloadProgress | None = None) -> Path:
    """Return the folder of a corpus, downloaded and unpacked if needed; `to` overrides its place in the cache.

    A folder that is damaged, or of an earlier description, is made again. The downloads stay in the cache.
    """
    known = catalogue()
    corpus = known.find(name)
    folder = (to or home() / name).absolute()
    described = corpus.model_dump(mode="json", exclude_none=True)
    if _is_whole(folder, described):
        return folder
    if to is not None:
        _check_folder(folder, corpus, name)
    downloads, told = home() / DOWNLOADS, progress or (lambda *_: None)
    for file in corpus.downloads:
        download(known.files[file], downloads / file, told)
    empty = folder.is_dir() and not any(folder.iterdir())
    replace = empty or (folder / DESCRIPTION).is_file()
    with files.new_directory(folder, replace=replace) as place:
        raw = place / "raw"
        raw.mkdir()
        for file in corpus.downloads:
            members = [side.partition("/")[2] for part in corpus.parts for side in part.sides if _file(side) == file]
            size = (downloads / file).stat().st_size
            told(f"unpacking {file}", 0, size)
            unpack(downloads / file, raw / file, members)
            told(f"unpacking {file}", size, size)
        for part in corpus.parts:
            texts.write(part, corpus.languages, raw, place)
        shutil.rmtree(raw)
        files.write_json(place / DESCRIPTION, described)
    return folder


def _check_folder(folder: Path, corpus: PublicCorpus, name: str) -> None:
    """Reject, before a download, a folder with anything that is not part of the corpus, because it would be lost."""
    there = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    own = {text for part in corpus.parts for split in texts.SPLITS for text in part.texts(split, corpus.languages)}
    others = there - own - {DESCRIPTION, files.MANIFEST} if DESCRIPTION in there else there
    if others:
        raise UserError(
            f"{folder}: holds {min(others)}, which is no part of {name}; move it away, or give another --to"
        )


def _file(side: str) -> str:
    return side.partition("/")[0]


def _is_whole(folder: Path, described: object) -> bool:
    if not (folder / DESCRIPTION).is_file():
        return False
    try:
        files.check_manifest(folder)
        return bool(files.read_json(folder / DESCRIPTION) == described)
    except UserError:
        return False


def text_files(
    name: str, split: SplitName, source: str | None = None, target: str | None = None, *, folder: Path | None = None
) -> list[tuple[str, str]]:
    """Return the two files of each part of a split of a downloaded corpus, source first.

    The languages are in the corpus's own order, or in the requested one.
    """
    corpus = catalogue().find(name)
    folder = folder or home() / name
    if not (folder / DESCRIPTION).is_file():
        raise UserError(f"the corpus {name} is not here; get it with: regard corpora get {name}")
    files.check_manifest(folder, contents=False)
    first, second = corpus.languages
    asked = source or (second if target == first else first), target or (first if source == second else second)
    if set(asked) != {first, second}:
        raise UserError(f"{name} is {first} and {second}, not {asked[0]} and {asked[1]}; change --from and --to")
    order = 1 if asked == corpus.languages else -1
    found = [part.texts(split, corpus.languages)[::order] for part in corpus.parts]
    return [(str(folder / names[0]), str(folder / names[1])) for names in found if names]
