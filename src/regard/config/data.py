"""How text pairs become prepared data: corpora, filters, subwords."""

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator

from regard.config.checked import Count, Frozen

Task = Literal["translation", "parsing"]


class FilterConfig(Frozen):
    """Which pairs of a corpus are kept. Each filter is counted by its name."""

    max_characters: Count = 5000
    """Either side longer than this is dropped, before any work is done on it."""
    max_ratio: Annotated[float, Field(ge=1.0)] | None = 9.0
    """The longer side over the shorter, in characters, each lengthened by 10 so that short texts pass; None: any."""
    identical: bool = False
    """Keep pairs whose two sides are the same text."""
    duplicates: bool = False
    """Keep a pair that came before."""


class CorpusConfig(Frozen):
    """Where pairs come from: two files aligned by line, or one TSV, JSON-lines or tree file; `-` is standard input."""

    files: Annotated[tuple[str, ...], Field(min_length=1, max_length=2)]
    weight: Annotated[float, Field(gt=0)] = 1.0
    """How often an epoch passes over the corpus: 2 is twice, 0.5 a different half each time."""
    tag: str | None = None
    """A reserved token, such as <2de>, put before every source."""

    @field_validator("tag")
    @classmethod
    def _check_tag(cls, tag: str | None) -> str | None:
        if tag is not None and not re.fullmatch(r"<[^\s<>,\"▁]+>", tag):
            raise ValueError("a tag is written like <2de>, without spaces or commas")
        return tag


class PrepareConfig(Frozen):
    """How text becomes token ids."""

    task: Task = "translation"
    """What the data is for. parsing: each corpus is one file of trees, and their words are translated into them."""
    tree_tags: Literal["kept", "one"] = "kept"
    """How words stand in a linearised tree: kept, each by its own part-of-speech tag; or all by the same symbol."""
    vocabulary: Annotated[int, Field(ge=300, le=1_000_000)] = 37_000
    """Subwords, of both languages together or of each; 260 of them are the reserved tokens and the bytes."""
    subwords: Literal["bpe", "unigram"] = "bpe"
    """bpe: Sennrich et al., 2016, as in the paper. unigram: Kudo, 2018."""
    subwords_from: str | None = None
    """The folder of a model, or of prepared data, whose subwords are taken instead of learning new ones."""
    shared: bool = True
    """One vocabulary for both languages (the paper's English-German) or one each."""
    form: Literal["NFC", "NFKC"] = "NFC"
    """Unicode normal form. NFKC also unites characters that only look different, such as full-width letters."""
    tags: tuple[str, ...] = ()
    """Reserved tokens, such as <2de>, that text can't spell; the corpora's own tags are added to these."""
    source_language: str | None = None
    target_language: str | None = None
    filters: FilterConfig = FilterConfig()
    skip_invalid: bool = False
    """Count lines that can't be read and go on, instead of stopping at the first."""
    sample: Count = 500_000
    """How many pairs the subwords are learned from, at most."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
