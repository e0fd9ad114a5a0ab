"""Decoding methods: the choice of one for a model, and the options that it does not support."""

from typing import TYPE_CHECKING

from regard.config.decode import Decoding
from regard.config.model import ModelConfig
from regard.errors import UserError

if TYPE_CHECKING:
    from regard.translate.translator import Options

ITERATIONS = 10  # of mask-predict, by default: with more its paper finds little change
MOST_ITERATIONS = 1000


def chosen_decoding(options: "Options", config: ModelConfig) -> Decoding:
    """Return the decoding method: the requested one or the model's default; reject options that it does not support."""
    if not config.decodings:
        raise UserError(f"a model of the kind {config.architecture} writes no text; start another --from it")
    decoding = options.decoding or config.decodings[0]
    if decoding not in config.decodings:
        raise UserError(f"the model can't decode by {decoding}; {_REMEDIES[decoding]}")
    if decoding != "mask-predict" and options.iterations is not None:
        raise UserError("iterations are those of mask-predict; leave them out, or choose that decoding")
    if options.iterations is not None and not 1 <= options.iterations <= MOST_ITERATIONS:
        raise UserError(f"mask-predict takes 1 to {MOST_ITERATIONS} iterations, not {options.iterations}; change it")
    if decoding == "search":
        return decoding
    unheeded = {
        "sampling": options.sampling is not None,
        "required words": bool(options.required),
        "a glossary": options.glossary is not None,
    }
    if decoding == "blockwise":
        unheeded |= {"several hypotheses": options.n_best > 1, "a beam": options.beam not in (None, 1)}
    else:
        unheeded |= {
            "banned words": bool(options.banned),
            "a prefix": bool(options.prefix),
            "repetition blocked": options.no_repeat > 0,
            "unknown words replaced": options.replace_unknown,
            "a length penalty": options.alpha is not None or options.penalty is not None,
        }
    for name, asked in unheeded.items():
        if asked:
            raise UserError(f"{decoding} decoding can't be combined with {name}; leave out one of the two")
    return decoding


_REMEDIES: dict[Decoding, str] = {
    "search": "leave out the decoding, so that the model writes in its own way",
    "blockwise": "give it heads first: regard train --from MODEL --set model.blocks=4 --data DATA --out RUN",
    "mask-predict": "train one that can: regard train --preset mask-predict --data DATA --out RUN",
}
