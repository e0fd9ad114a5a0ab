"""Configuration of data preparation: corpora, filters and subwords."""

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator

from regard.config.checked import Count, Frozen
from regard.config.task import Task


class FilterConfig(Frozen):
    """Filters that drop pairs of a corpus. The report counts dropped pairs by filter."""

    max_characters: Count = 5000
    """Drop a pair if either side has more characters than this; checked before any other work."""
    max_ratio: Annotated[float, Field(ge=1.0)] | None = 9.0
    """Drop a pair if its longer side is more than this many times its shorter side, in characters. Ten are added to
    each side first, so that short texts pass. None: no limit."""
    identical: bool = False
    """Keep pairs whose source and target are the same text."""
    duplicates: bool = False
    """Keep pairs that occurred before."""


class CorpusConfig(Frozen):
    """A corpus of pairs: two files aligned by line, or one TSV, JSON-lines or tree file; `-` is standard input."""

    files: Annotated[tuple[str, ...], Field(min_length=1, max_length=2)]
    """One file, or a source and a target file."""
    weight: Annotated[float, Field(gt=0)] = 1.0
    """The number of times that an epoch passes over the corpus: 2 is twice, 0.5 a different half each time."""
    tag: str | None = None
    """A reserved token, such as <2de>, put before every source; or several, such as <2de><bt>."""

    @field_validator("tag")
    @classmethod
    def _check_tag(cls, tag: str | None) -> str | None:
        if tag is not None and not re.fullmatch(r"(<[^\s<>,\"▁]+>)+", tag):
            raise ValueError("a tag is written like <2de>, without spaces or commas")
        return tag


class PrepareConfig(Frozen):
    """Settings of the conversion from text to token ids."""

    task: Task = "translation"
    """The task that the data is for. translation: pairs of sentences. parsing: each corpus is one file of trees; the
    source is a sentence, the target its linearised tree. labels: pairs of a text and its label. denoise: each corpus is
    one file of text; the source is a line with spans left out, the target the spans (T5), to train a model that is then
    fine-tuned to translate."""
    tree_tags: Literal["kept", "one"] = "kept"
    """The form of a word in a linearised tree. kept: as its own part-of-speech tag. one: as one symbol for all
    words."""
    vocabulary: Annotated[int, Field(ge=300, le=1_000_000)] | None = None
    """Number of subwords, for both languages together or for each; 260 of them are the reserved tokens and the
    bytes. None: chosen by the amount of text, at most the paper's 37,000."""
    vocabulary_kind: Literal["subwords", "words"] = "subwords"
    """subwords: as in the paper, with bytes for the rest, so that no word is unknown. words: the most frequent words,
    as the models before it had; all others are unknown."""
    subwords: Literal["bpe", "unigram"] = "bpe"
    """bpe: Sennrich et al., 2016, as in the paper. unigram: Kudo, 2018."""
    subwords_from: str | None = None
    """Folder of a model, or of prepared data, whose subwords are used instead of learning new ones."""
    grow: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Number of subwords to add to those of `subwords_from`, at most: the letters of the new text that they lack, and
    then frequent pairs of neighbours. `regard train --from` that model starts them from the mean of their parts."""
    temperature: Annotated[float, Field(ge=1.0)] | None = None
    """Sample the corpora by tag with probability proportional to size^(1/temperature): above 1, languages with little
    text come more often than their share. The number of pairs in an epoch stays."""
    shared: bool = True
    """Use one vocabulary for both languages (the paper's English-German) instead of one each."""
    form: Literal["NFC", "NFKC"] = "NFC"
    """Unicode normalization form. NFKC also unifies compatibility characters, such as full-width letters."""
    tags: tuple[str, ...] = ()
    """Reserved tokens, such as <2de>, that text can't contain; the tags of the corpora are added to these."""
    protect: bool = False
    """Let reserved tokens stand for addresses, placeholders, paths and code that both sides of a pair have, so that the
    model learns to copy them; pairs whose addresses or placeholders differ are left out."""
    speech_levels: bool = False
    """Tell the speech level of Korean targets from their endings (합니다, 해요, 해라), and say it in the tags of half
    of these pairs: <2ko:formal>, <2ko:polite> or <2ko:plain> for <2ko>. The model can then be asked for one."""
    source_language: str | None = None
    """Code of the source language, such as `en`."""
    target_language: str | None = None
    """Code of the target language, such as `de`."""
    filters: FilterConfig = FilterConfig()
    """Filters for the pairs of the corpora."""
    skip_invalid: bool = False
    """Count unreadable lines and continue, instead of stopping at the first."""
    valid_pairs: Annotated[int, Field(ge=0)] | None = 0
    """Number of pairs, at least, that are split off from the training text for validation if no validation set is
    given; all pairs of a source sentence go together. None: one in 20, of a small text one in 10, at most 500."""
    test_pairs: Annotated[int, Field(ge=0)] | None = 0
    """The same for a test set, which is written to test.jsonl. None: the same shares, at most 1,000."""
    sample: Count = 500_000
    """Number of pairs from which the subwords are learned, at most."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
