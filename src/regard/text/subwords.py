"""Conversion between normalised text and token ids: a thin, lossless layer over sentencepiece.

The ids are, in this order: PAD, UNK, BOS, EOS; the tags; the 256 bytes, which spell what no piece can; the pieces.
"""

import io
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice, takewhile
from pathlib import Path

from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from regard.config.checked import nearest
from regard.config.special_tokens import BOS, EOS, PAD, UNK
from regard.errors import UserError
from regard.text import subword_file
from regard.text.protected.reserved import SIGNS, TOKENS
from regard.text.subword_file import MARK, STAND_IN, UNKNOWN_SURFACE, SubwordKind

THREADS = 4  # unigram's sums depend on the number of threads: a fixed one learns the same on every machine

# Sentencepiece gives these a meaning: NUL as an end, tab as a boundary, U+2585 as unknown; surrogates are not UTF-8.
_UNLEARNABLE = re.compile(f"[\0\t{MARK}\u2585{STAND_IN}{''.join(SIGNS)}\ud800-\udfff]")
# A word of 65,536 characters aborts the process in BPE's trainer, and unigram's takes time quadratic in a sentence. Cut
# to at most 4,000 bytes, because the trainer skips sentences of more than 4,192. The space that begins each piece of a
# cut sentence is one character in a thousand, so never among the rare 0.05 % that are left to the bytes.
_LONGEST_SENTENCE = 1000  # characters
_MANY = 64  # for a list sentencepiece starts a thread, 90 µs, and then saves about 1 µs of Python a text


class WrongSize(UserError):
    """A vocabulary of a size that the text does not allow."""

    def __init__(self, sentence: str, possible: int) -> None:
        super().__init__(sentence)
        self.possible = possible
        """The nearest size that it allows."""


class Subwords:
    """A subword vocabulary: learn it from sentences or load it, encode text, decode ids."""

    def __init__(self, content: bytes, origin: str) -> None:
        found = subword_file.read(content, origin)
        self.content = content
        self.kind: SubwordKind = found.kind
        self.size = len(found.names)
        self.tags = tuple(tag for tag in found.tags if tag not in TOKENS)
        self.reserved = tuple(tag for tag in found.tags if tag in TOKENS)
        """Tokens that stand for protected spans; in text they are noncharacters (regard.text.protected.reserved)."""
        self._origin = origin
        self._names = found.names
        self._found = found
        self._first_byte = len(subword_file.RESERVED) + len(found.tags)
        self.imported = found.rules is not None
        """True if another program learned the subwords."""
        self._numbers = (
            {name: number for number, name in enumerate(found.names) if number >= self._first_byte}
            if self.imported
            else {}
        )
        try:
            self._processor = SentencePieceProcessor(model_proto=content)
        except (RuntimeError, ValueError) as error:
            raise UserError(f"{origin}: sentencepiece can't load it ({error}); restore it from a copy") from None
        assert len(self._processor) == self.size
        self._signs = {
            sign: len(subword_file.RESERVED) + found.tags.index(token)
            for sign, token in zip(SIGNS, TOKENS, strict=True)
            if token in self.reserved and not self.imported
        }
        self._by_token = {number: self._bytes(sign) for sign, number in self._signs.items()}

    @classmethod
    def train(
        cls,
        sentences: Iterable[str],
        size: int,
        *,
        kind: SubwordKind = "bpe",
        tags: Sequence[str] = (),
        threads: int | None = None,
    ) -> "Subwords":
        """Learn `size` subwords, the reserved ones included, from normalised sentences.

        The same sentences in the same order give the same bytes (for unigram: with the same number of threads).
        """
        _check_tags(tags)
        stream = _Stream(sentences)
        writer = io.BytesIO()
        try:
            SentencePieceTrainer.Train(
                sentence_iterator=iter(stream),
                model_writer=writer,
                model_type=kind,
                vocab_size=size,
                control_symbols=list(tags),
                pad_id=PAD,
                unk_id=UNK,
                bos_id=BOS,
                eos_id=EOS,
                unk_surface=UNKNOWN_SURFACE,
                byte_fallback=True,
                normalization_rule_name="identity",  # text is normalised already, and must be restored exactly
                remove_extra_whitespaces=False,
                split_digits=True,  # numbers are copied digit by digit, and take no place in the vocabulary
                max_sentencepiece_length=subword_file.LONGEST_PIECE,
                num_threads=threads or THREADS,
                minloglevel=5,  # nothing on stderr
            )
        except (RuntimeError, ValueError) as error:
            if stream.failure is not None:
                raise stream.failure from None
            raise _explain(error, size, stream.count) from error
        return cls(subword_file.rebuild(writer.getvalue(), kind), "the trained subwords")

    @classmethod
    def load(cls, path: Path) -> "Subwords":
        try:
            with path.open("rb") as file:
                content = file.read(subword_file.LARGEST_FILE + 1)
        except FileNotFoundError:
            raise UserError(f"{path}: no such file; is {path.parent} the folder you meant?") from None
        except (IsADirectoryError, NotADirectoryError):
            raise UserError(f"{path}: a file is expected here; give the path of a subword model") from None
        except PermissionError:
            raise UserError(f"{path}: may not be read; change its permissions") from None
        return cls.from_bytes(content, str(path))

    @classmethod
    def from_bytes(cls, content: bytes, origin: str) -> "Subwords":
        """Load a model from its bytes; `origin` names them in an error."""
        return cls(content, origin)

    def tag(self, name: str) -> int:
        """Return the id of a reserved token such as <2de>."""
        if name in self.tags:
            return len(subword_file.RESERVED) + self.tags.index(name)
        known = f"there are {', '.join(self.tags)}" if self.tags else "it has none"
        raise UserError(f"{self._origin}: no tag {name!r}{nearest(name, list(self.tags))}; {known}")

    @property
    def language_tags(self) -> list[str]:
        """Return the tags that name a target language, such as <2de>, with or without a speech level."""
        return [tag for tag in self.tags if tag.startswith("<2")]

    def tag_ids(self, names: str) -> list[int]:
        """Return the ids of one or more reserved tokens, written together: <2ko><bt>."""
        return [self.tag(name) for name in subword_file.split_tags(names)]

    def encode(self, texts: Sequence[str], *, threads: int = 1) -> list[list[int]]:
        """Encode each normalised text as ids, without BOS and EOS. No text can spell a reserved token."""
        texts = _encodable(texts)
        if self.imported:
            return self._encode_imported(texts)
        marked = [index for index, text in enumerate(texts) if MARK in text]
        for index in marked:
            texts[index] = texts[index].replace(STAND_IN, "\ufffd").replace(MARK, STAND_IN)
        encode, enough = self._processor.Encode, min(threads, len(texts) // _MANY)
        ids: list[list[int]] = encode(texts, num_threads=enough) if enough else [encode(text) for text in texts]
        for index in marked:
            self._spell_marks(ids[index])
        if self._signs:
            for index, text in enumerate(texts):
                for sign in self._signs.keys() & set(text):
                    _replace_run(ids[index], self._bytes(sign), [self._signs[sign]])
        return ids

    def _encode_imported(self, texts: list[str]) -> list[list[int]]:
        """Encode by piece name: a piece unknown to the source side gets the id that the target side has for it, if any.

        The tokenizers that such models are published with do the same. They treat a real U+2581 as a space.
        """
        cut: list[list[str]] = [self._processor.Encode(text, out_type=str) for text in texts]
        return [[self._numbers.get(name, UNK) for name in names] for names in cut]

    def _spell_marks(self, ids: list[int]) -> None:
        """Replace the bytes of the stand-in by those of U+2581, which sentencepiece would have read as a space."""
        _replace_run(ids, self._bytes(STAND_IN), self._bytes(MARK))

    def _bytes(self, character: str) -> list[int]:
        """Return the ids that spell a character in bytes."""
        return [self._first_byte + byte for byte in character.encode()]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of any ids below `size`: PAD, BOS, EOS and tags are empty, UNK is ⁇, stray bytes are U+FFFD.

        A model's output may spell control characters in bytes, even a line break: normalise it before printing.
        """
        return self.decode_all([ids])[0]

    def decode_all(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """Decode each of several sequences."""
        given, decode = list(map(list, sequences)), self._processor.Decode
        if self._by_token:
            for ids in given:
                for number in self._by_token.keys() & set(ids):
                    _replace_run(ids, [number], self._by_token[number])
        return decode(given, num_threads=1) if len(given) >= _MANY else list(map(decode, given))

    @cached_property
    def scores(self) -> dict[str, float]:
        """Return the score of each piece that text is made of: a log probability, or minus the number of its merge."""
        found = self._found
        return {
            name: score for name, score, normal in zip(found.names, found.scores, found.normal, strict=True) if normal
        }

    @cached_property
    def spelling(self) -> list[bytes]:
        """Return the UTF-8 text of each id: a piece's letters, with a space for ▁; nothing for a reserved one."""
        bytes_ = {name: bytes([value]) for value, name in enumerate(subword_file.BYTES)}
        written = (bytes_.get(name) or name.replace(MARK, " ").encode() for name in self._names[self._first_byte :])
        return [b""] * self._first_byte + list(written)

    @cached_property
    def word_ranks(self) -> dict[str, int]:
        """Return the pieces that are letters at the beginning of a word, with their ranks, the most frequent first."""
        begins = [(number, piece[1:]) for number, piece in enumerate(self.spelling) if piece[:1] == b" "]
        words = ((number, piece.decode("utf-8", "replace")) for number, piece in begins)
        return {word: number for number, word in words if word.isalpha()}

    @cached_property
    def _in_order(self) -> list[int]:
        """All ids, sorted by their spelling."""
        return sorted(range(self.size), key=self.spelling.__getitem__)

    def beginning(self, letters: bytes) -> list[int]:
        """Return the ids of all pieces whose spelling begins with these bytes."""
        first = bisect_left(self._in_order, letters, key=self.spelling.__getitem__)
        found = takewhile(lambda number: self.spelling[number].startswith(letters), islice(self._in_order, first, None))
        return list(found)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the piece of each id, for display: a space is ▁, a byte is <0xE2>."""
        assert min(ids, default=0) >= 0, "an id is negative"
        return list(map(self._names.__getitem__, ids))


class _Stream:
    """Sentences for the trainer, cut and cleaned; keeps their exception, to be raised instead of sentencepiece's."""

    def __init__(self, sentences: Iterable[str]) -> None:
        self.sentences = sentences
        self.count = 0
        self.failure: BaseException | None = None

    def __iter__(self) -> Iterator[str | None]:
        try:
            for sentence in self.sentences:
                if not sentence or sentence.isspace():
                    continue
                self.count += 1
                clean = _UNLEARNABLE.sub(" ", sentence)
                if len(clean) <= _LONGEST_SENTENCE:
                    yield clean
                else:
                    for at in range(0, len(clean), _LONGEST_SENTENCE):
                        yield clean[at : at + _LONGEST_SENTENCE]
        except BaseException as error:
            self.failure = error
            yield None  # not a sentence: the trainer stops here instead of learning from the part that was read


def _replace_run(ids: list[int], run: list[int], other: list[int]) -> None:
    """Replace every occurrence of a run of ids, in place."""
    at = 0
    while at <= len(ids) - len(run):
        if ids[at : at + len(run)] == run:
            ids[at : at + len(run)] = other
            at += len(other)
        else:
            at += 1


def _encodable(texts: Sequence[str]) -> list[str]:
    """Return the texts as a new list, with U+FFFD for lone surrogates, which UTF-8 cannot encode."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return [re.sub("[\ud800-\udfff]", "\ufffd", text) for text in texts]
    return list(texts)


def _check_tags(tags: Sequence[str]) -> None:
    for tag in tags:
        if not subword_file.is_tag(tag):
            raise UserError(
                f"tag {tag!r} is not of the form <name>; write it short, like <2de>, without spaces or commas"
            )
        if tag in subword_file.BYTES or any(tag == name for name, _ in subword_file.RESERVED.values()):
            raise UserError(f"tag {tag!r} is a token that every vocabulary has already; choose another name")
    if len(set(tags)) != len(tags):
        raise UserError(f"a tag is given twice in {', '.join(tags)}; name each once")


def _explain(error: Exception, size: int, count: int) -> Exception:
    """Return a UserError for a known sentencepiece error; an unknown one is a bug, and is returned unchanged."""
    if count == 0 or "!sentences_.empty()" in str(error):
        return UserError("there is no text to learn subwords from; give at least one sentence")
    if found := re.search(r"too high .*<= (\d+)", str(error)):
        return WrongSize(
            f"the text is too small for a vocabulary of {size:,}: leave --vocabulary out to have one chosen, ask for "
            f"{int(found[1]):,} or fewer, or give more text",
            int(found[1]),
        )
    if found := re.search(r"smaller than required_chars\. \d+ vs (\d+)", str(error)):
        return WrongSize(
            f"a vocabulary of {size:,} has no room for the letters of the text and the reserved tokens: "
            f"leave --vocabulary out to have one chosen, or ask for {int(found[1]):,} or more",
            int(found[1]),
        )
    return error
