"""Reader and writer of translation memories (.tmx): units with the source language but without the target's."""

from collections.abc import Callable, Iterator

from regard.documents.document import Document, Languages
from regard.documents.language import base
from regard.documents.markup import Element, Source
from regard.documents.office.walk import Walk
from regard.documents.resources.xml_file import document
from regard.documents.segment import Piece
from regard.documents.translators.inline import Codes, content
from regard.errors import UserError

CODES = Codes(
    pairs=frozenset(("hi",)), opening={"bpt": "i"}, closing={"ept": "i"}, words=frozenset(("ph", "it", "ut", "hi"))
)


def read(content: bytes, name: str, languages: Languages) -> Document:
    """Read a translation memory."""
    source = Source(content, name)
    heads = source.elements("header")
    if not heads or source.elements()[0].name != "tmx":
        raise UserError(f"{name}: is not TMX, whose root is <tmx>; check what it is")
    if languages.target is None:
        raise UserError(f"{name}: a memory names its languages, but the model does not say what it writes; use --to")
    declared = heads[0].attributes.get("srclang", "*all*")
    language = languages.source or (declared if declared != "*all*" else None)
    return document(source, {"tu": _unit(language, languages.target)}, name)


def _unit(source: str | None, target: str) -> Callable[[Walk, Element], Iterator[Piece]]:
    def pieces(walk: Walk, unit: Element) -> Iterator[Piece]:
        variants = [child for child in unit.elements() if child.name == "tuv"]
        spoken = {_language(variant): variant for variant in reversed(variants)}
        there = spoken.get(base(unit.attributes.get("srclang") or source)) if source else next(iter(variants), None)
        said = there.first("seg") if there is not None else None
        if base(target) in spoken or there is None or said is None:
            walk.kept["unit that has a translation, or no source"] += 1
            yield walk.raw(unit)
            return
        yield walk.source.raw(unit.start, there.end)
        yield f'<tuv xml:lang="{target}"><seg>'
        yield from content(walk, said, CODES)
        yield "</seg></tuv>"
        yield walk.source.raw(there.end, unit.end)

    return pieces


def _language(variant: Element) -> str:
    return base(variant.attributes.get("xml:lang") or variant.attributes.get("lang"))
