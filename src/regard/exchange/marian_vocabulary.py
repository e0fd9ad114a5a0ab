"""The vocabulary of a Marian folder with our ids: PAD, UNK, BOS, EOS, the languages' tags, then the rest in order.

Marian has two sentencepiece models, and a list of the pieces of both with their ids. A piece of the models that is not
in the list is unknown to Marian; here it is a token of its own with the unknown token's embedding.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.config.special_tokens import BOS, EOS, PAD
from regard.errors import UserError
from regard.exchange.marian import language_code, language_tag
from regard.files import read_json
from regard.text import imported
from regard.text.imported import LONGEST_NAME, Foreign
from regard.text.subword_file import LARGEST_FILE, RESERVED, from_other_programs, is_tag
from regard.text.subwords import Subwords

SIDES = ("source", "target")


@dataclass(frozen=True)
class Vocabulary:
    """Our ids of one vocabulary."""

    names: list[str]
    tags: int
    theirs: list[int]
    """The Marian id whose embedding each of our ids has."""
    silent: list[int]
    """Our ids that Marian lacks, and so never generates."""


@dataclass(frozen=True)
class MarianVocabularies:
    source: Vocabulary
    target: Vocabulary
    files: dict[str, bytes]
    """The vocabulary files by their names in a saved model."""


def read_vocabularies(folder: Path, config: Mapping[str, Any]) -> MarianVocabularies:
    """Return the vocabularies of a folder; raise a UserError for an invalid one."""
    contents = [_content(folder / f"{side}.spm") for side in SIDES]
    separate = (folder / "target_vocab.json").exists()
    paths = [folder / "vocab.json", folder / ("target_vocab.json" if separate else "vocab.json")]
    numbers = [_numbers(path) for path in paths]
    kept = [_kept(content, known, config) for content, known in zip(contents, numbers, strict=True)]
    if kept[0] is not None and kept[1] is not None:
        return MarianVocabularies(kept[0], kept[1], _files([from_other_programs(content) for content in contents]))

    models = [imported.read(content, f"{folder / side}.spm") for content, side in zip(contents, SIDES, strict=True)]
    if separate:
        source, target = (_renumbered(paths[i], numbers[i], config, [models[i]]) for i in (0, 1))
    else:
        source = target = _renumbered(paths[0], numbers[0], config, models)
    files = [imported.write(side.names, side.tags, one) for side, one in zip((source, target), models, strict=True)]
    for path, content in zip(SIDES, files, strict=True):
        Subwords.from_bytes(content, f"{folder / path}.spm")
    return MarianVocabularies(source, target, _files(files))


def _files(contents: Sequence[bytes]) -> dict[str, bytes]:
    if contents[0] == contents[1]:
        return {"subwords.model": contents[0]}
    return {f"{side}.subwords.model": content for side, content in zip(SIDES, contents, strict=True)}


def _content(path: Path) -> bytes:
    if not path.is_file():
        raise UserError(
            f"{path}: missing; a Marian folder has source.spm, target.spm and vocab.json beside its weights"
        )
    if path.stat().st_size > LARGEST_FILE:
        raise UserError(f"{path}: {path.stat().st_size:,} bytes is too large for a subword model; get it again")
    return path.read_bytes()


def _numbers(path: Path) -> dict[str, int]:
    """Return the id of each piece in the list."""
    found = read_json(path)
    if not isinstance(found, dict) or not all(type(number) is int and number >= 0 for number in found.values()):
        raise UserError(f"{path}: not a list of pieces and their numbers; get the file again")
    if len(set(found.values())) != len(found):
        raise UserError(f"{path}: two pieces have the same number; get the file again")
    if "<unk>" not in found:
        raise UserError(f"{path}: has no <unk>; get the file again")
    if any(not _is_name(name) for name in found):
        raise UserError(f"{path}: a piece is empty, too long or no text; get the file again")
    return found


def _is_name(name: str) -> bool:
    return 0 < len(name.encode(errors="surrogatepass")) <= LONGEST_NAME and "\0" not in name and _is_text(name)


def _is_text(name: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in name)


def _kept(content: bytes, numbers: Mapping[str, int], config: Mapping[str, Any]) -> Vocabulary | None:
    """Return a vocabulary that has our ids already, because `regard export` wrote it; None for any other."""
    ids = [config[f"{key}_token_id"] for key in ("pad", "decoder_start", "eos")]
    try:
        subwords = Subwords.from_bytes(from_other_programs(content), "")
    except UserError:
        return None
    names = subwords.pieces(range(subwords.size))
    if ids != [PAD, BOS, EOS] or {language_code(name): number for number, name in enumerate(names)} != numbers:
        return None
    return Vocabulary(names, len(subwords.tags) + len(subwords.reserved), list(range(subwords.size)), [])


def _renumbered(
    path: Path, numbers: Mapping[str, int], config: Mapping[str, Any], models: Sequence[Foreign]
) -> Vocabulary:
    pad, start, eos = (config[f"{key}_token_id"] for key in ("pad", "decoder_start", "eos"))
    unknown = numbers["<unk>"]
    if len({pad, unknown, eos}) != 3:
        raise UserError(f"{path}: <unk> has the number of the padding or the end; get the file again")
    reserved = {name for name, _ in RESERVED.values()}
    others = {
        name: number
        for name, number in sorted(numbers.items(), key=lambda item: item[1])
        if number not in (pad, unknown, eos, start) and name not in reserved
    }
    tags = {tag: others[name] for name in others if (tag := language_tag(name)) is not None and is_tag(tag)}
    pieces = {name: number for name, number in others.items() if number not in set(tags.values())}
    if clash := tags.keys() & pieces.keys():
        raise UserError(f"{path}: has both a piece and a language called {min(clash)}; no model of ours can")
    lacking = dict.fromkeys(name for model in models for name in model.pieces if name not in numbers)
    names = [*(name for name, _ in RESERVED.values()), *tags, *pieces, *lacking]
    theirs = [pad, unknown, start, eos, *tags.values(), *pieces.values(), *[unknown] * len(lacking)]
    silent = list(range(len(names) - len(lacking), len(names)))
    return Vocabulary(names, len(tags), theirs, [BOS, *silent] if start in (pad, unknown, eos) else silent)
