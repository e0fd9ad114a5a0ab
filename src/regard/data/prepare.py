"""Text pairs -> prepared data, in memory that does not grow with the corpus.

The first pass reads, normalises and filters, and spools the kept pairs to a scratch file; so every error in the input
is found before anything is written. Subwords are learned from a sample of the spool. The second pass encodes the spool
into shards. The result depends only on the input, not on the number of processes.
"""

import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from regard import files
from regard.config.data import CorpusConfig, PrepareConfig
from regard.cores import available_cores
from regard.data import prepared
from regard.data.corpus import check_corpora
from regard.data.held_out import split_off
from regard.data.passes.first_pass import PrepareProgress, first_pass
from regard.data.passes.second_pass import SecondPass, learn, take, tempered
from regard.data.passes.workers import Workers
from regard.data.prepare_report import PrepareReport, Timings, total_read
from regard.data.spans import TAGS as DENOISE_TAGS
from regard.errors import UserError
from regard.text.formality import INTO_KOREAN, LEVEL_TAGS
from regard.text.subword_file import split_tags


def prepare(
    train: Sequence[CorpusConfig],
    valid: Sequence[CorpusConfig],
    out: Path,
    config: PrepareConfig,
    *,
    cores: int | None = None,
    force: bool = False,
    progress: PrepareProgress | None = None,
) -> PrepareReport:
    """Prepare these corpora in the folder `out`, completely or not at all, and report what was kept and dropped.

    `cores` processes share the work; the default is all cores. With `force`, prepared data at `out` is replaced.
    """
    if not train:
        raise UserError("there is no training corpus; name at least one")
    check_corpora([*train, *valid])
    if config.grow is not None and config.subwords_from is not None:
        train, valid = (_into_new_language(corpora, config) for corpora in (train, valid))
    replace = _may_replace(out := out.resolve(), force)
    if config.protect and (config.task != "translation" or config.vocabulary_kind == "words"):
        raise UserError("protected text needs a vocabulary of subwords and pairs of sentences; leave out --protect")
    config = _with_tags(_denoising(config) if config.task == "denoise" else config, [*train, *valid])
    if config.subwords_from is not None:  # so that an error is reported before the work begins
        source, _ = take(Path(config.subwords_from), config)
        learns = config.protect and config.grow is not None
        if config.protect and not (source.reserved or learns):
            raise UserError(
                f"{config.subwords_from}: its subwords have no tokens for protected text; leave out --protect, or add "
                "them with --grow"
            )
        reserved = bool(source.reserved) or learns
        config = config.model_copy(update={"protect": reserved and config.task == "translation"})
        for tag in config.tags if config.grow is None else ():
            source.tag(tag)
    elif config.grow is not None:
        raise UserError("--grow adds to the subwords of a model; name it with --subwords-from")
    watch = _Watch(progress or (lambda *_: None))
    with (
        files.new_directory(out, replace=replace) as folder,
        Workers(cores or available_cores()) as workers,
    ):
        report = _make(train, valid, config, folder=folder, workers=workers, watch=watch)
        watch.begin("writing")
    watch.end()
    rate = total_read([*report.train, report.valid]) / sum(watch.seconds.values())
    return report.model_copy(update={"timings": Timings(**watch.seconds, pairs_per_second=round(rate, 1))})


def _with_tags(config: PrepareConfig, corpora: Sequence[CorpusConfig]) -> PrepareConfig:
    """Return the config with the tags of the corpora; one may have several, such as <2ko><bt>."""
    tags = [tag for corpus in corpora for tag in split_tags(corpus.tag or "")]
    if config.speech_levels:
        if INTO_KOREAN not in tags:
            raise UserError("--speech-levels is for translation into Korean; give such a corpus --tag '<2ko>'")
        tags += LEVEL_TAGS
    return config.model_copy(update={"tags": tuple(dict.fromkeys([*config.tags, *tags]))})


def _into_new_language(corpora: Sequence[CorpusConfig], config: PrepareConfig) -> Sequence[CorpusConfig]:
    """Return the corpora, with a tag for the target language where they have none and the model has such tags."""
    source, _ = take(Path(config.subwords_from or ""), config)
    if config.target_language is None or not source.language_tags:
        return corpora
    tag = f"<2{config.target_language}>"
    return [corpus if corpus.tag else corpus.model_copy(update={"tag": tag}) for corpus in corpora]


def _denoising(config: PrepareConfig) -> PrepareConfig:
    """Return the config of text in one language: a line is both sides of a pair, and tags stand for spans."""
    if not config.shared or config.vocabulary_kind == "words":
        raise UserError("--task denoise has the same text on both sides, in subwords; leave out --separate and words")
    filters = config.filters.model_copy(update={"identical": True})
    return config.model_copy(update={"tags": (*config.tags, *DENOISE_TAGS), "filters": filters})


def _make(
    train: Sequence[CorpusConfig],
    valid: Sequence[CorpusConfig],
    config: PrepareConfig,
    *,
    folder: Path,
    workers: Workers,
    watch: "_Watch",
) -> PrepareReport:
    """Fill the folder."""
    scratch = folder / "scratch"
    scratch.mkdir()
    watch.begin("reading")
    raw = folder / prepared.VALID_TEXTS
    texts = first_pass(train, valid, config, scratch=scratch, raw=raw, workers=workers, progress=watch.progress)
    texts = split_off(texts, config, raw, folder / prepared.TEST_TEXTS)
    watch.begin("learning")
    subwords = learn(texts, config)
    config = config.model_copy(update={"shared": subwords[0] is subwords[1]})
    watch.begin("encoding")
    factors = None if config.temperature is None else tempered(texts.train, config.temperature)
    second = SecondPass(
        texts,
        subwords,
        folder,
        workers,
        watch.progress,
        factors,
        speech_levels=config.speech_levels,
        protect=config.protect,
    )
    train_splits = [second.encode(f"train-{number}", [text]) for number, text in enumerate(texts.train)]
    valid_split = second.encode("valid", texts.valid) if texts.valid else None
    report = PrepareReport(
        source_vocabulary=subwords[0].size,
        target_vocabulary=subwords[1].size,
        train=tuple(split.report for split in train_splits),
        valid=valid_split.report if valid_split else None,
        valid_in_train=texts.valid_in_train,
    )
    described = [split.description for split in train_splits]
    description = prepared.describe(config, subwords, described, valid_split.description if valid_split else None)
    prepared.write(folder, description, subwords, report)
    shutil.rmtree(scratch)
    return report


def _may_replace(out: Path, force: bool) -> bool:
    """Return whether `out` may be replaced: an empty folder, or with `force` prepared data; nothing else."""
    if not out.name:
        raise UserError(f"{out}: can't be made; name a new folder")
    if not out.exists():
        return force
    if not out.is_dir():
        raise UserError(f"{out}: is a file; name a new folder")
    if not any(out.iterdir()):
        return True
    if not force:
        raise UserError(f"{out}: exists already; choose another place, or pass --force to replace it")
    others = sorted({path.name for path in out.iterdir()} - prepared.own_files(out))
    if others:
        raise UserError(
            f"{out}: holds {others[0]}, which is no prepared data, so --force won't remove it; move it away"
        )
    return True


class _Watch:
    """A stopwatch of the phases, which also reports progress."""

    def __init__(self, progress: PrepareProgress) -> None:
        self.seconds: dict[str, float] = {}
        self.progress = progress
        self._phase, self._since = "", 0.0

    def begin(self, phase: str) -> None:
        self.end()
        self._phase, self._since = phase, time.perf_counter()
        self.progress(phase, 0, None)

    def end(self) -> None:
        if self._phase:
            self.seconds[self._phase] = round(time.perf_counter() - self._since, 4)
