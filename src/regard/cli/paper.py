"""`regard paper`: the paper's tables and figures, ours beside the published ones."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from regard.paper.later.plan import Later
    from regard.paper.table3.plan import Table3
    from regard.train.log import Observer

Fresh = Annotated[bool, typer.Option("--fresh", help="Start over; the runs that are asked for are removed.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})


@app.callback()
def paper() -> None:
    """The paper's tables and figures, each by one command: ours beside the published ones."""


@app.command("table1")
def table1(
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw time and memory into this .svg, .png or .pdf file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Table 1: what a layer of each kind costs on this machine, beside the theory.

    regard paper table1 --plot table1.svg

    Time and memory are those of mixing positions alone, without the projections that all layers share. It takes half a
    minute, in which the machine should do nothing else.
    """
    if plot is not None:
        from regard.paper.drawing import check_picture

        check_picture(plot)
    from regard.paper.table1.complexity import as_markdown, measure

    measured = measure()
    if plot is not None:
        from regard.paper.table1.plot import draw

        draw(measured, plot)
    if as_json:
        typer.echo(json.dumps({name: layer.as_dict() for name, layer in measured.items()}))
    else:
        typer.echo(as_markdown(measured))


@app.command("table2")
def table2(
    runs: Annotated[list[Path] | None, typer.Argument(metavar="[RUN]...", help="Folders of training runs.")] = None,
    source: Annotated[str | None, typer.Option(metavar="FILE", help="Text to translate, a segment a line.")] = None,
    reference: Annotated[str | None, typer.Option(metavar="FILE", help="Its translation.")] = None,
    run: Annotated[bool, typer.Option("--run", help="Train the systems of the table, and test them.")] = False,
    systems: Annotated[
        str | None,
        typer.Option(metavar="gnmt,convs2s", help="With --run: only these, beside the first; report on all."),
    ] = None,
    plan: Annotated[Path | None, typer.Option(metavar="TABLE.toml", help="With --run: another plan.")] = None,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="With --run: what `regard prepare` made.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="With --run: the folder of the runs and the table.")
    ] = None,
    fresh: Fresh = False,
    as_json: Json = False,
) -> None:
    """Table 2: BLEU and the operations of training, as published and of your own runs.

    regard paper table2 runs/first --source test.en --reference test.de

    regard paper table2 --run --data data/m30k --out runs/table2 --source test.en --reference test.de

    Without a test, BLEU is the last one in the run's log, if it was trained with train.bleu=true.

    With --run all systems are trained, as large as the first, for the same tokens and again for the same processor
    time, each with the best of some learning rates. They are tested once; without a test, on the validation set.
    Stopped or killed? The same command goes on.
    """
    from regard.errors import UserError
    from regard.paper.table2 import as_markdown, ours, report

    if (source is None) != (reference is None):
        raise UserError("--source and --reference go together; name the file to translate and its translation")
    test = None if source is None or reference is None else (source, reference)
    if run:
        if runs or data is None or out is None:
            raise UserError("--run trains systems itself: give --data and --out, and no runs")
        _run_table2(plan, systems, data, out, test, fresh=fresh, as_json=as_json)
        return
    given = {"--systems": systems, "--plan": plan, "--data": data, "--out": out, "--fresh": fresh or None}
    if others := [name for name, value in given.items() if value is not None]:
        raise UserError(f"{others[0]} goes with --run; add that, or leave it out")
    _show([ours(run, test) for run in runs or []], report, as_markdown, as_json)


def _run_table2(
    plan: Path | None,
    systems: str | None,
    data: Path,
    out: Path,
    test: tuple[str, str] | None,
    *,
    fresh: bool,
    as_json: bool,
) -> None:
    from regard.data.prepared import Prepared
    from regard.paper.drawing import check_picture
    from regard.paper.experiment import read_experiment, sample_of
    from regard.paper.systems.plan import Table2
    from regard.paper.systems.report import as_markdown, write_table2
    from regard.paper.systems.run import Bench, run_table2

    check_picture(out / "table2-time.svg")
    prepared = Prepared.open(data)
    bench = Bench(read_experiment(Table2, "table2", plan), prepared, out, sample_of(prepared, test), _watch, _warn)
    outcomes = run_table2(bench, _names(systems), fresh=fresh)
    report = write_table2(out, bench.plan, outcomes, bench.sample)
    typer.echo(json.dumps(report) if as_json else as_markdown(report), nl=as_json)


@app.command("table3")
def table3(
    file: Annotated[
        Path | None, typer.Argument(metavar="[TABLE.toml]", help="Other rows, scales and findings.")
    ] = None,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="The folder that `regard prepare` made.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder of the runs and the table; what is there goes on.")
    ] = None,
    scale: Annotated[
        str, typer.Option(help="How large all rows are: small for two cores, full as in the paper.")
    ] = "small",
    rows: Annotated[
        str | None, typer.Option(metavar="A,base", help="Run only these rows, or groups of rows; report on all.")
    ] = None,
    seeds: Annotated[str | None, typer.Option(metavar="1,2", help="Run only these seeds; report on all.")] = None,
    test: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="SOURCE REFERENCE", help="Measure on these two files and the validation set together."),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Train nothing: judge the figures in this folder, one ROW-seedN.json a run."),
    ] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Train nothing: test the rule on simulated rows without a difference.")
    ] = False,
    fresh: Fresh = False,
    as_json: Json = False,
) -> None:
    """Table 3: train every variation of the base model, and compare with what the paper finds.

    regard paper table3 --scale small --data data/m30k --out runs/table3

    regard paper table3 --results experiments/results/table3

    regard paper table3 --simulate

    Stopped or killed? The same command goes on. Rows that are done are not done again.
    """
    from regard.errors import UserError
    from regard.paper.experiment import read_experiment
    from regard.paper.table3.plan import Table3, report_table3
    from regard.paper.table3.report import as_markdown

    training = {"--rows": rows, "--seeds": seeds, "--test": test, "--data": data, "--fresh": fresh or None}
    if simulate or results is not None:
        way = "--simulate" if simulate else "--results"
        beside = {**training, "--out": out, **({"--results": results} if simulate else {})}
        if given := [name for name, value in beside.items() if value is not None]:
            raise UserError(f"{way} trains nothing, and {given[0]} is for training; leave one of them out")
    experiment = read_experiment(Table3, "table3", file)
    if simulate:
        _simulate(experiment, as_json=as_json)
        return
    if results is not None:
        report = report_table3(experiment, scale, results)
    elif data is None or out is None:
        raise UserError("give --data and --out to train, --results to judge finished runs, or --simulate")
    else:
        report = _run_table3(experiment, scale, data, out, rows, seeds, test, fresh=fresh)
    typer.echo(json.dumps(report) if as_json else as_markdown(report), nl=as_json)


def _run_table3(
    experiment: "Table3",
    scale: str,
    data: Path,
    out: Path,
    rows: str | None,
    seeds: str | None,
    test: tuple[str, str] | None,
    *,
    fresh: bool,
) -> dict[str, Any]:
    from regard.data.prepared import Prepared
    from regard.paper.drawing import check_picture
    from regard.paper.experiment import sample_of
    from regard.paper.table3.plan import run_table3

    check_picture(out / "table3.svg")
    wanted, prepared = _seeds(seeds), Prepared.open(data)
    sample = sample_of(prepared, test, together=True)
    return run_table3(
        experiment, scale, prepared, out, sample, _watch, _warn, rows=_names(rows), seeds=wanted, fresh=fresh
    )


def _simulate(experiment: "Table3", *, as_json: bool) -> None:
    from regard.paper.table3.simulation import as_markdown, cases, report, simulate

    found = report([simulate(case) for case in cases(experiment.rows, experiment.seeds, experiment.base_seeds)])
    typer.echo(json.dumps(found) if as_json else as_markdown(found))


@app.command("table4")
def table4(
    results: Annotated[
        list[Path] | None, typer.Argument(metavar="[RESULT.json]...", help="What `regard evaluate --json` printed.")
    ] = None,
    run: Annotated[
        bool, typer.Option("--run", help="Train parsers on gold trees, and on gold and silver trees.")
    ] = False,
    gold: Annotated[list[str] | None, typer.Option(metavar="FILE", help="Trees to train on.")] = None,
    silver: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Another parser's trees; give it again for more.")
    ] = None,
    valid: Annotated[str | None, typer.Option(metavar="FILE", help="Gold trees to validate with.")] = None,
    test: Annotated[str | None, typer.Option(metavar="FILE", help="Gold trees to measure on.")] = None,
    agreement: Annotated[str | None, typer.Option(metavar="FILE", help="Silver trees to measure on.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder of the runs; what is there goes on.")
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Another plan than the package's table4.toml.")
    ] = None,
    arms: Annotated[str | None, typer.Option(metavar="gold", help="Run only these arms; report on all.")] = None,
    seeds: Annotated[str | None, typer.Option(metavar="1,2", help="Run only these seeds; report on all.")] = None,
    fresh: Fresh = False,
    as_json: Json = False,
) -> None:
    """Table 4: labelled F1 of constituency parsers, as published and yours.

    regard evaluate --gold gold.mrg --model runs/x/model --json > mine.json && regard paper table4 mine.json

    regard paper table4 --run --gold train.mrg --silver parsed.mrg --valid dev.mrg --test test.mrg --agreement held.mrg
    --out runs/table4

    With --run it trains: on gold trees alone, and on both. Stopped or killed? The same command goes on.
    """
    from regard.errors import UserError

    files = {"gold": gold, "silver": silver, "valid": valid, "test": test, "agreement": agreement, "out": out}
    if run:
        for name, value in files.items():
            if not value:
                raise UserError(f"--run needs --{name}; name the file or folder")
        if results:
            raise UserError(f"{results[0]}: --run makes its own results; leave it out")
        _run_table4(files, plan, arms, seeds, fresh=fresh, as_json=as_json)
        return
    others = {**files, "plan": plan, "arms": arms, "seeds": seeds, "fresh": fresh}
    for name, given in others.items():
        if given:
            raise UserError(f"--{name} goes with --run; add --run to train")
    from regard.paper.table4 import as_markdown, ours, report

    _show([one for path in results or [] for one in ours(path)], report, as_markdown, as_json)


def _run_table4(
    files: dict[str, Any], plan: Path | None, arms: str | None, seeds: str | None, *, fresh: bool, as_json: bool
) -> None:
    from regard.paper.experiment import read_experiment
    from regard.paper.semi_supervised import Table4, Trees, as_markdown, run_table4

    out = files.pop("out")
    experiment = read_experiment(Table4, "table4", plan)
    report = run_table4(
        experiment, Trees(**files), out, _watch, _warn, arms=_names(arms), seeds=_seeds(seeds), fresh=fresh
    )
    typer.echo(json.dumps(report) if as_json else as_markdown(report), nl=as_json)


@app.command("lineage", hidden=True, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def lineage() -> None:
    """Name the command that took its place."""
    from regard.errors import UserError

    raise UserError(
        "the models before the Transformer are systems of Table 2 now; run `regard paper table2 --run --data DIR "
        "--out DIR`, with --systems rnn,lstm,lstm-attention for some of them"
    )


@app.command("later")
def later(
    file: Annotated[Path | None, typer.Argument(metavar="[LATER.toml]", help="Another plan.")] = None,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="The folder that `regard prepare` made.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder of the runs and the report; what is there goes on.")
    ] = None,
    distilled: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Prepared data with another model's translations, for the rows that ask for it."
        ),
    ] = None,
    test: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="SOURCE REFERENCE", help="Measure on these two files, not on the validation set."),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="mamba,listops-256",
            help="Run only these rows, or runs such as mamba-2; listops is the task over length. Report on all.",
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Train nothing: report on the figures in this folder, one RUN.json a run."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train what came after the paper beside it: other layers, one stack, all tokens at once; and a task over length.

    regard paper later --data data/m30k --out runs/later

    regard paper later --results experiments/results/later --out docs/pictures

    All have the same data, number of parameters and batches. Stopped or killed? The same command goes on; what is done
    is not done again.
    """
    from regard.errors import UserError
    from regard.paper.drawing import check_picture
    from regard.paper.experiment import read_experiment
    from regard.paper.later.plan import Later
    from regard.paper.later.report import as_markdown, write_report
    from regard.paper.later.run import finished

    if out is None:
        raise UserError("--out is missing; name the folder for the report")
    plan = read_experiment(Later, "later", file)
    check_picture(out / "later-steps.svg")
    if results is not None:
        training = {"--data": data, "--distilled": distilled, "--test": test, "--rows": rows}
        if given := [name for name, value in training.items() if value is not None]:
            raise UserError(f"--results trains nothing, and {given[0]} is for training; leave one of them out")
        if not results.is_dir():
            raise UserError(f"{results}: is not a folder; name the one that has the figures of the runs")
    elif data is None:
        raise UserError("give --data to train, or --results to report on finished runs")
    else:
        _run_later(plan, data, out, distilled, test, _names(rows))
    figures = finished(plan, results or out)
    out.mkdir(parents=True, exist_ok=True)
    report = write_report(out, plan, figures)
    typer.echo(json.dumps(report) if as_json else as_markdown(plan, figures), nl=as_json)


def _run_later(
    plan: "Later", data: Path, out: Path, distilled: Path | None, test: tuple[str, str] | None, rows: list[str]
) -> None:
    from regard.data.prepared import Prepared
    from regard.paper.experiment import sample_of
    from regard.paper.later.plan import chosen_runs
    from regard.paper.later.run import Bench, checked_configs, run_later

    prepared = Prepared.open(data)
    runs = chosen_runs(plan, rows)
    checked_configs(plan, prepared)
    other = None if distilled is None else Prepared.open(distilled)
    run_later(Bench(plan, prepared, other, sample_of(prepared, test), out, _watch, _warn), runs)


@app.command("figures")
def figures(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to put the pictures into.")],
    model: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also draw the heads of this trained model.")
    ] = None,
    text: Annotated[
        str, typer.Option(help="What the heads are drawn at work on.")
    ] = "The animal didn't cross the street because it was too tired.",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Draw the paper's figures: positions, the causal mask, the learning rate and, with a model, its heads.

    And one that the paper takes for known: how far back a gradient reaches in the models before it.
    """
    from regard.paper.figures import write_figures

    written = write_figures(out, model, text)
    if as_json:
        typer.echo(json.dumps({"out": str(out), "files": written}))
    else:
        typer.echo("\n".join(str(out / name) for name in written))


def _names(given: str | None) -> list[str]:
    return [name.strip() for name in (given or "").split(",") if name.strip()]


def _seeds(given: str | None) -> list[int]:
    from regard.errors import UserError

    try:
        return [int(name) for name in _names(given)]
    except ValueError:
        raise UserError(f"--seeds {given}: a seed is a whole number; write for example --seeds 1,2") from None


def _show(rows: list[Any], report: Callable[..., Any], as_markdown: Callable[..., str], as_json: bool) -> None:
    typer.echo(json.dumps(report(rows)) if as_json else as_markdown(rows))


def _warn(sentence: str) -> None:
    typer.echo(f"warning: {sentence}", err=True)


@contextmanager
def _watch(title: str, steps: int, run: Path) -> "Iterator[Observer]":
    """Show the progress of `regard train` below a line with the name of the run."""
    from regard.cli.terminal.watch import watch
    from regard.config.train import TrainConfig

    typer.echo(title, err=True)
    with watch(TrainConfig(steps=steps), run, tensorboard=False) as observer:
        yield observer
