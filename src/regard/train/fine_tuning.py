"""Rules of fine-tuning: what a run takes over from its initial model, and what both must have in common."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from regard.config.checked import check
from regard.config.later import EncoderOnlyConfig
from regard.config.run import Config
from regard.config.special_tokens import BOS
from regard.data.prepared import Prepared
from regard.errors import UserError
from regard.model.build import build
from regard.model.later.blockwise import starting_heads
from regard.saved.saved_model import SavedModel, model_folder
from regard.text.subword_file import BYTES
from regard.text.subwords import Subwords
from regard.text.vocabularies import Vocabularies
from regard.train.run import fingerprint, subword_files

if TYPE_CHECKING:
    from regard.saved.folder import LoadedModel

DEFAULT_MODEL = Config().model  # of a run that names no model


def fine_tuned(config: Config, saved: SavedModel, start: Path | str, changes: Mapping[str, Any]) -> Config:
    """Return the configuration of a run that starts from a saved model: the model's configuration with some changes.

    A model of another kind, such as one that translates, can start from an encoder alone: it keeps its own.
    """
    if isinstance(saved.config, EncoderOnlyConfig) and "architecture" not in changes:
        kept = config.model if config.model != DEFAULT_MODEL else saved.config
        if not isinstance(kept, EncoderOnlyConfig):
            return config.model_copy(update={"start": identity(start)})
    values = {**saved.config.model_dump(), **changes}
    model = check(Config, {"model": values}, f"the model of {start}").model
    return config.model_copy(update={"model": model, "start": identity(start)})


def starting_weights(config: Config, saved: "LoadedModel") -> dict[str, Tensor]:
    """Return the weights that a run starts from: the saved model's, and initial ones for the parts that it lacks.

    Heads for blockwise decoding are new to a model without them. Of an encoder alone another kind of model takes the
    layers and the embedding of the text.
    """
    theirs = dict(saved.model.state_dict())
    before, now = saved.config, config.model
    new_heads = getattr(now, "blocks", 1) > 1 and getattr(before, "blocks", 1) == 1
    other_kind = isinstance(before, EncoderOnlyConfig) and (
        not isinstance(now, EncoderOnlyConfig) or now.learns != before.learns
    )
    if not new_heads and not other_kind:
        return theirs
    torch.manual_seed(config.train.seed)
    initial = dict(build(now).state_dict())
    if new_heads:
        return {**starting_heads(initial, theirs, now.decoder_layers), **theirs}
    taken = {name: weight for name, weight in theirs.items() if name.startswith("encoder")}
    taken |= {name: weight for name, weight in theirs.items() if name.startswith("embed_source.")}
    text = "embedding_VD" if before.share_embeddings else "source_VD"
    taken["embedding_VD" if now.share_embeddings else "source_VD"] = theirs[text]
    return {**initial, **taken}


def identity(start: Path | str) -> str:
    """Return the name and checksum of a model, by which a resumed run recognises its initial model."""
    folder = model_folder(start)
    return f"{folder.resolve().name}, {fingerprint(folder)[:16]}"


def check_same_text(saved: SavedModel, data: Prepared, start: Path | str) -> None:
    """Raise UserError unless the data have the same Unicode form and subwords as the model to fine-tune.

    Of an encoder alone the subwords of the text count, not what it was to predict.
    """
    if saved.form != data.config.form:
        raise UserError(
            f"{start}: reads texts in Unicode's form {saved.form}, and the data are in {data.config.form}; "
            f"prepare the data with --form {saved.form}"
        )
    if isinstance(saved.config, EncoderOnlyConfig):
        fits = saved.vocabularies.source.content == data.source_subwords.content
    else:
        fits = saved.subwords == subword_files(data) or _extends(saved, data)
    if not fits:
        raise UserError(
            f"{start}: its subwords are not those of the data; "
            f"prepare the data with them: regard prepare --subwords-from {start} …"
        )


def _extends(saved: SavedModel, data: Prepared) -> bool:
    """Return whether the data's subwords are those of the model and more, on both sides (`regard prepare --grow`)."""
    new = Vocabularies(data.source_subwords, data.target_subwords)
    if saved.subwords.keys() != subword_files(data).keys():
        return False
    for old, grown in zip(saved.vocabularies, new, strict=True):
        if not isinstance(old, Subwords) or not isinstance(grown, Subwords) or old.kind != grown.kind:
            return False
        names = old.pieces(range(old.size))
        there = set(names)
        if [name for name in grown.pieces(range(grown.size)) if name in there] != names:
            return False
    return True


def grown_weights(saved: SavedModel, data: Prepared, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of a model for data whose subwords are the model's and more.

    An old piece keeps its embedding. A new one starts from the mean of the old pieces that it is made of; a new tag
    from the mean of the old tags.
    """
    found = dict(weights)
    if saved.subwords == subword_files(data) or isinstance(saved.config, EncoderOnlyConfig):
        return found
    assert isinstance(data.target_subwords, Subwords), "check_same_text has rejected others"
    source, target = (
        parts_of(old, new)
        for old, new in zip(saved.vocabularies, (data.source_subwords, data.target_subwords), strict=True)
        if isinstance(old, Subwords)
    )
    for name, parts in (("embedding_VD", target), ("source_VD", source), ("untied_VD", target)):
        if name in found:
            old_VD = found[name]
            found[name] = torch.stack([old_VD[rows].mean(dim=0) for rows in parts])
    return found


def parts_of(old: Subwords, new: Subwords) -> list[list[int]]:
    """Return, for each piece of a grown vocabulary, the ids of the old pieces that it is made of."""
    numbers = {name: number for number, name in enumerate(old.pieces(range(old.size)))}
    languages = [numbers[tag] for tag in old.language_tags] or [BOS]
    return [
        [numbers[name]] if name in numbers else languages if name in new.tags else _spelled(name, numbers)
        for name in new.pieces(range(new.size))
    ]


def _spelled(name: str, numbers: Mapping[str, int]) -> list[int]:
    """Return the ids of the fewest old pieces that a name is made of, with bytes for letters that are none."""
    best: list[list[int]] = [[]]
    for end in range(1, len(name) + 1):
        ways = [[*best[start], numbers[name[start:end]]] for start in range(end) if name[start:end] in numbers] or [
            [*best[end - 1], *(numbers[BYTES[byte]] for byte in name[end - 1].encode())]
        ]
        best.append(min(ways, key=len))
    return best[-1]
