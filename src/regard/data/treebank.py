"""A file of trees -> pairs: the words of each sentence, and its tree as a line of symbols.

One tree a line, or over several; `name TAB tree`; plain or compressed. One process reads the trees; from then on their
pairs are processed like all others.
"""

from collections.abc import Iterator

from regard.config.data import CorpusConfig, PrepareConfig
from regard.data.corpus import CHUNK_BYTES, CHUNK_LINES, Corpus
from regard.data.lines import Lines, decoded, shown
from regard.data.raw_pairs import LineSettings, RawChunk
from regard.errors import UserError
from regard.text.linear_trees import linearise
from regard.text.tokenise import spelt
from regard.text.trees import Tree, cleaned, read_trees, words

NO_WORDS = "no words"


class Treebank(Corpus):
    """One file of trees while it is read. Trees that can't be a pair are counted in `dropped`."""

    def __init__(self, config: CorpusConfig, prepare: PrepareConfig) -> None:
        if len(config.files) != 1:
            raise UserError(f"{' '.join(config.files)}: a treebank is one file; give --train again for another")
        if config.tag is not None:
            raise UserError(f"{config.files[0]}: {config.tag} can't stand before sentences to parse; leave out --tag")
        if prepare.skip_invalid:
            raise UserError(
                f"{config.files[0]}: where a tree is broken nothing tells the next one; mend it, and leave out "
                "--skip-invalid"
            )
        super().__init__(config, LineSettings(config.files * 2))  # both sides are in the same file
        self._tags, self._form = prepare.tree_tags == "kept", prepare.form

    def chunks(self) -> Iterator[RawChunk]:
        first, size = 1, 0
        sources: list[bytes] = []
        targets: list[bytes] = []
        with Lines(self.config.files[0]) as file:
            for tree in read_trees(decoded(file), shown(file.name)):
                pair = self._pair(tree)
                if pair is None:
                    continue
                sources.append(pair[0].encode())
                targets.append(pair[1].encode())
                size += len(sources[-1]) + len(targets[-1])
                if size >= CHUNK_BYTES or len(sources) >= CHUNK_LINES:
                    self.position = file.position()
                    yield RawChunk("parallel", first, len(sources), (b"\n".join(sources), b"\n".join(targets)))
                    first, sources, targets, size = first + len(sources), [], [], 0
            self.position = file.position()
        if sources:
            yield RawChunk("parallel", first, len(sources), (b"\n".join(sources), b"\n".join(targets)))

    def _pair(self, tree: Tree) -> tuple[str, str] | None:
        """Return the source and target of a tree as a parser learns it, or None if nothing is left."""
        clean = cleaned(tree)
        if clean is None:
            self.dropped[NO_WORDS] += 1
            return None
        return spelt(words(clean), self._form), " ".join(linearise(clean, self._tags))
