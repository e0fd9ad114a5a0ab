"""Options that several commands share: a glossary, a memory and a least confidence."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.translate.translation import Translation
    from regard.translate.translator import Options, Translator

MOST_TOLD = 10  # remarks on standard error
WARNINGS = {
    "repeats": "repeats itself",
    "copied": "copies its source",
    "short": "is too short for its source",
    "appended": "lost what must not be translated, which is appended",
}


def with_knowledge(
    translator: "Translator", options: "Options", glossary: Path | None, memory: Path | None
) -> "Options":
    """Return options with a glossary and a memory, read for the languages of the translation."""
    from regard.memory.store import Memory
    from regard.terms.glossary import Glossary
    from regard.translate.recall import memory_languages

    if glossary is not None:
        from regard.errors import UserError

        try:
            languages: tuple[str | None, str | None] = memory_languages(translator, options)
        except UserError:
            languages = (None, None)
        options = replace(options, glossary=Glossary.read(glossary, languages))
    return options if memory is None else replace(options, memory=Memory(memory))


class Remarks:
    """Reports on standard error of terms that translations lack, and of translations to distrust."""

    def __init__(self, translator: "Translator") -> None:
        self.read = {source for source, _ in translator.directions}
        self.count = 0

    def see(self, line: int, translation: "Translation") -> None:
        """Report on one line."""
        from regard.text.protected.languages import name

        for use in translation.unplaced:
            self._tell(f"line {line + 1}: {use.source!r} could not be placed as {' or '.join(use.targets)!r}")
        for sentence in translation.sentences:
            if sentence.language is not None:
                other, remedy = name(sentence.language.language), self._remedy(sentence.language.language)
                self._tell(f"line {line + 1}: left as it is, since it is {other}; {remedy}: {sentence.source[:60]}")
                continue
            wrong = " and ".join(WARNINGS[name] for name in sentence.judgement.warnings)
            if sentence.kept:
                sure = f"confidence {sentence.judgement.confidence}" + (f", {wrong}" if wrong else "")
                self._tell(f"line {line + 1}: left untranslated ({sure}): {sentence.source[:60]}")
            elif wrong:
                self._tell(f"line {line + 1}: the translation {wrong}: {sentence.source[:60]}")

    def _remedy(self, language: str) -> str:
        """Return the option or the model that translates a text in another language."""
        from regard.saved.bundled import translation_models

        if language in self.read:
            return f"--from {language} translates it"
        bundled = (name for name, languages in translation_models().items() if language in languages)
        model = next(bundled, None)
        return f"--model {model} --from {language} translates it" if model else "--force translates it"

    def _tell(self, sentence: str) -> None:
        import typer

        self.count += 1
        if self.count <= MOST_TOLD:
            typer.echo(f"regard: {sentence}", err=True)

    def close(self) -> None:
        import typer

        if self.count > MOST_TOLD:
            typer.echo(f"regard: {self.count - MOST_TOLD:,} more of these; --format jsonl shows all", err=True)
