"""Options that several commands share, and commands whose options are fields of dataclasses."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from regard.search.sampling import Sampling
    from regard.translate.translator import Options

Text = Annotated[str | None, typer.Argument(metavar="[TEXT or FILE]", help="Default: standard input.")]
Models = Annotated[
    list[Path] | None,
    typer.Option(help="Folder of a model; if given again, an ensemble, which averages probabilities."),
]
Source = Annotated[str | None, typer.Option(metavar="FILE", help="Source text, one segment per line.")]
Reference = Annotated[str | None, typer.Option(metavar="FILE", help="Its reference translation, line by line.")]
Engine = Annotated[
    str, typer.Option(help="Engine: torch; native or ctranslate2, which need a CPU; or auto for the fastest.")
]
Device = Annotated[str, typer.Option(help="Device: cpu, cuda, cuda:1.")]
Beam = Annotated[int | None, typer.Option(help="Beam size; 1 is greedy search.")]
Alpha = Annotated[float | None, typer.Option(help="Exponent of the length penalty.")]
Decoding = Annotated[
    Literal["search", "blockwise", "mask-predict"] | None,
    typer.Option(help="Decoding method; blockwise is greedy search of several tokens a step. [default: the model's]"),
]
Iterations = Annotated[int | None, typer.Option(min=1, help="Iterations of mask-predict.", show_default="10")]
Target = Annotated[str | None, typer.Option("--to", metavar="CODE", help="Target language, for a model with several.")]
BatchTokens = Annotated[int | None, typer.Option(min=1, help="Most source tokens in a batch.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
SkipInvalid = Annotated[
    bool, typer.Option("--skip-invalid", help="Skip and count lines that can't be read, instead of stopping.")
]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command in which each field of a dataclass that it takes is an option of its own."""
    groups: dict[str, Any] = {}
    flat: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if isinstance(parameter.annotation, type) and is_dataclass(parameter.annotation):
            groups[name] = parameter.annotation
            flat += inspect.signature(parameter.annotation).parameters.values()
        else:
            flat.append(parameter)

    @wraps(command)
    def run(**given: Any) -> None:
        filled = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**given, **filled)

    options = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in flat]
    vars(run)["__signature__"] = inspect.Signature(options)
    return run


@dataclass(frozen=True)
class DecodingOptions:
    """Options of decoding that `regard translate` and `regard evaluate` share."""

    engine: Engine = "auto"
    device: Device = "cpu"
    beam: Beam = None
    alpha: Alpha = None
    penalty: Annotated[
        Literal["paper", "average"] | None,
        typer.Option(help="Length penalty: ((5 + length) / 6)^alpha as in the paper, or length^alpha."),
    ] = None
    beta: Annotated[float | None, typer.Option(help="Weight of the coverage penalty; 0 for none.")] = None
    decoding: Decoding = None
    iterations: Iterations = None
    target: Target = None
    no_split: Annotated[bool, typer.Option("--no-split", help="Translate lines whole, not by sentence.")] = False
    glossary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Terms to use: TSV (source TAB target), CSV or TBX.")
    ] = None
    batch_tokens: BatchTokens = None

    def options(self) -> "Options":
        """Return options of translation; those that were not given are the model's own."""
        from regard.translate.translator import Options

        return Options(
            beam=self.beam,
            alpha=self.alpha,
            penalty=self.penalty,
            beta=self.beta,
            decoding=self.decoding,
            iterations=self.iterations,
            target=self.target,
            split=not self.no_split,
            batch_tokens=self.batch_tokens,
        )


@dataclass(frozen=True)
class SamplingOptions:
    """Random translations instead of the most probable one."""

    sample: Annotated[bool, typer.Option("--sample", help="Sample from the model instead of searching.")] = False
    temperature: Annotated[float, typer.Option(help="With --sample: below 1 is safer, above 1 more varied.")] = 1.0
    top_k: Annotated[int, typer.Option(min=0, help="With --sample: from the k most probable tokens only.")] = 0
    top_p: Annotated[
        float, typer.Option(help="With --sample: from the most probable tokens with this total probability only.")
    ] = 1.0
    seed: Annotated[int, typer.Option(min=0, help="With --sample: seed of the random numbers.")] = 0

    def sampling(self) -> "Sampling | None":
        """Return the distribution to sample from; None to search."""
        from regard.errors import UserError

        if not self.sample:
            if self != SamplingOptions():
                raise UserError("--temperature, --top-k, --top-p and --seed are for sampling; add --sample")
            return None
        from regard.search.sampling import Sampling

        return Sampling(self.temperature, self.top_k, self.top_p, self.seed)


@dataclass(frozen=True)
class ClusterOptions:
    """Translation of many files by several workers."""

    cluster: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Translate the files of a pattern on a Ray cluster; local starts one."),
    ] = None
    workers: Annotated[
        int | None, typer.Option(min=1, help="With --cluster: processes. [default: one a core, or one a GPU]")
    ] = None
    cores: Annotated[int | None, typer.Option(min=1, help="With --cluster: threads of a worker. [default: 1]")] = None

    def check_alone(self, **others: object) -> None:
        """Without a cluster, reject what is for one alone: workers, cores and other options of a command."""
        from regard.errors import UserError

        if self.cluster is not None:
            return
        for name, value in {"workers": self.workers, "cores": self.cores, **others}.items():
            if value not in (None, False):
                raise UserError(f"--{name} is for many files on a cluster; add --cluster local, or leave it out")
