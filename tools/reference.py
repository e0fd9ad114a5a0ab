"""Write the reference pages from the code: every command, every configuration key, the public Python API.

Everything is found by importing it, so a page can't name what is not there.
"""

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any, get_type_hints

import typer.main
from pydantic import BaseModel

import regard
from regard.cli.main import app
from regard.config.checked import Frozen
from regard.config.data import CorpusConfig, PrepareConfig
from regard.config.presets import paper_figures, preset, preset_names
from regard.config.run import Config
from regard.serve.settings import Settings

Schema = dict[str, Any]


def pages() -> dict[str, str]:
    """Every reference page by its file name."""
    return {
        "commands.md": commands(),
        "configuration.md": configuration(),
        "presets.md": presets(),
        "python.md": python(),
    }


# Commands


def commands() -> str:
    """Every command with its arguments and options, as `--help` has them."""
    parts = ["# Commands", "`regard COMMAND --help` prints the same in a terminal.", EXIT_CODES]
    for name, command in _commands(typer.main.get_command(app), "regard"):
        context = typer.Context(command, info_name=name)
        parts += [f"## {name}", *_help(command.help or "")]
        for title, argument in (("argument", True), ("option", False)):
            records = [
                record
                for parameter in command.params
                if (parameter.param_type_name == "argument") is argument
                and (record := parameter.get_help_record(context)) is not None
            ]
            if records:
                parts.append(_table((title, ""), [(_code(names), _cell(text)) for names, text in records]))
    return _page(parts)


EXIT_CODES = """Results go to stdout, everything else to stderr. Exit codes: 0 done; 1 failed; 2 a mistake that you can
mend; 75 stopped by the system with everything saved, so start it again; 130 interrupted."""


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """A command and those below it. `Any`, since typer keeps the types of its commands private."""
    below = getattr(command, "commands", {})
    if not below or name != "regard":
        yield name, command
    for word, one in below.items():
        yield from _commands(one, f"{name} {word}")


def _help(text: str) -> list[str]:
    """The paragraphs of a help text; those that are commands become blocks."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in inspect.cleandoc(text).split("\n\n")]
    return [f"```\n{one}\n```" if re.match(r"regard |echo .*\| regard ", one) else _escape(one) for one in paragraphs]


# Configuration


def configuration() -> str:
    """Every key of a run file, of `regard prepare` and of `regard serve`, with type, default and meaning."""
    parts = [
        "# Configuration",
        'A run file is TOML with these sections, on top of `preset = "NAME"` if it says so. `--set SECTION.KEY=VALUE` '
        "changes one key. An unknown key is an error that names the nearest known one.",
    ]
    parts += _sections(_schema(Config), "A run", "`regard train`")
    parts += _sections(_schema(PrepareConfig), "Preparation", "`regard prepare` and `regard.prepare`")
    parts += _sections(_schema(CorpusConfig), "A corpus", "`regard.prepare`")
    parts += _sections(_schema(Settings), "A server", "`regard serve --set KEY=VALUE`")
    return _page(parts)


def _schema(kind: type[BaseModel]) -> Schema:
    """The JSON schema of a configuration, with the strings that stand below its fields as their descriptions.

    Pydantic could read these itself, but would do so whenever regard is imported.
    """
    schema = kind.model_json_schema()
    classes = {one.__name__: one for one in (kind, *_below(Frozen))}
    for name, inner in ((kind.__name__, schema), *schema.get("$defs", {}).items()):
        own = [one for one in reversed(classes[name].__mro__) if issubclass(one, Frozen) and one is not Frozen]
        told: dict[str, str] = {}
        for one in own:
            told |= dict.fromkeys(inspect.get_annotations(one), "") | _attribute_docs(one)
        for key, described in inner["properties"].items():
            described.update({"description": told[key]} if told.get(key) else {})
    return schema


def _below(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Every class that is made from this one."""
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)


def _sections(schema: Schema, title: str, used: str) -> list[str]:
    """A table of the plain keys, then one for each section that is a description of its own."""
    definitions = schema.get("$defs", {})
    parts = [f"## {title}", f"{_escape(schema.get('description', ''))} Used by {used}."]
    plain = {key: one for key, one in schema["properties"].items() if not _references(one)}
    if plain:
        parts.append(_keys(plain))
    for key, one in schema["properties"].items():
        for reference in _references(one):
            inner = definitions[reference]
            kind, mixing = (inner["properties"].get(name, {}).get("const") for name in ("architecture", "mixing"))
            with_mixing = f' with `mixing = "{mixing}"`' if mixing else ""
            parts.append(f"### `[{key}]`" + (f" of a {kind} model{with_mixing}" if kind else ""))
            parts += [_escape(inner.get("description", "")), _keys(inner["properties"])]
    return parts


def _references(schema: Schema) -> list[str]:
    """The names of the descriptions that a key may hold."""
    choices = [schema, *schema.get("anyOf", []), *schema.get("oneOf", []), *schema.get("allOf", [])]
    return [choice["$ref"].rpartition("/")[2] for choice in choices if "$ref" in choice]


def _keys(properties: dict[str, Schema]) -> str:
    rows = [
        (f"`{key}`", _type(one), _default(one), _cell(one.get("description", ""))) for key, one in properties.items()
    ]
    return _table(("key", "type", "default", ""), rows)


def _type(schema: Schema) -> str:
    """A JSON schema in a few words: `integer, ≥ 1`; `a` or `b`; `string or nothing`."""
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(_type(choice) for choice in choices)
    if schema.get("type") == "null":
        return "nothing"
    bounds = (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("exclusiveMaximum", "<"))
    limits = [f"{sign} {_number(schema[key])}" for key, sign in bounds if key in schema]
    kind = str(schema.get("type", "any"))
    name = "list" if kind == "array" else kind
    return ", ".join([name, *limits])


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _default(schema: Schema) -> str:
    if "default" not in schema:
        return "required"
    value = schema["default"]
    if value is None or value in ([], ""):
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


# Presets


def presets() -> str:
    """Every preset with what it changes of the base model, beside what the paper reports."""
    base = preset("base").model_dump()
    rows = []
    for name in preset_names():
        changed = preset(name).model_dump()
        differences = [
            f"`{section}.{key}={value}`"
            for section in ("model", "train", "decode")
            for key, value in changed[section].items()
            if base[section].get(key) != value
        ]
        figures = paper_figures(name)
        told = "" if figures is None else f"{figures.ppl:g} PPL, {figures.bleu:g} BLEU"
        rows.append((f"`{name}`", " ".join(differences), told))
    intro = (
        "Each preset is the paper's base model with these keys changed. `regard model NAME` shows its parts and size."
    )
    return _page(["# Presets", intro, _table(("preset", "changes", "the paper reports"), rows)])


# Python


def _thing(name: str) -> Any:
    """Return what a public name stands for; of a package that can be called, its function."""
    thing = getattr(regard, name)
    return getattr(import_module(regard._PUBLIC[name]), name) if isinstance(thing, ModuleType) else thing


def python() -> str:
    """The public names of `regard`, and the classes that they return."""
    parts = [
        "# Python",
        "`import regard` is quick: each name loads what it needs when it is first used.",
    ]
    seen: list[type] = []
    for name in regard.__all__:
        thing = _thing(name)
        if isinstance(thing, type):
            seen.append(thing)
        elif isinstance(thing, FunctionType):
            parts += _function(thing, f"regard.{name}", 2)
    public = [f"regard.{name}" for name in regard.__all__ if isinstance(_thing(name), type)]
    for name, thing in zip(public, list(seen), strict=True):
        parts += _class(thing, name)
    returned = list(_returned(seen))
    if returned:
        parts += [
            "## What they return",
            "These classes are made by the functions above; you do not make them yourself.",
        ]
        for thing in returned:
            parts += _class(thing, thing.__name__, 3)
    return _page(parts)


def _returned(known: list[type]) -> Iterator[type]:
    """The classes of regard that public functions return, and their methods in turn."""
    functions: list[Callable[..., Any]] = [
        thing for name in regard.__all__ if isinstance(thing := _thing(name), FunctionType)
    ]
    found = list(known)
    for function in functions:
        for one in _classes(_hints(function).get("return")):
            if one not in found:
                found.append(one)
                functions += [method for _, method in _methods(one)]
                yield one


def _hints(function: Any) -> dict[str, Any]:
    """Type hints; names that only type checkers import are looked up in the public names' modules."""
    names: dict[str, Any] = {}
    while True:
        try:
            return get_type_hints(function, localns=names)
        except NameError as error:
            if error.name is None or error.name in names:
                raise
            names[error.name] = _anywhere(function, error.name)


def _anywhere(function: Any, name: str) -> Any:
    """What a name means that a module imports for type checkers only."""
    tree = ast.parse(inspect.getsource(inspect.getmodule(function)))  # type: ignore[arg-type]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and name in {alias.name for alias in node.names}:
            return getattr(__import__(node.module, fromlist=[name]), name)
    raise NameError(f"{name} is not imported", name=name)


def _classes(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and hint.__module__.startswith("regard.") and not issubclass(hint, BaseModel):
        yield hint
    for inner in getattr(hint, "__args__", ()):
        yield from _classes(inner)


def _function(function: Any, name: str, level: int) -> list[str]:
    return [f"{'#' * level} `{name}`", f"```python\n{_signature(function, name)}\n```", *_doc(function)]


def _signature(function: Any, name: str) -> str:
    """As its source has it, one parameter a line where it does not fit on one."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body
    assert isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef)
    if tree.args.args and tree.args.args[0].arg == "self":
        del tree.args.args[0]
    returned = "" if tree.returns is None else f" -> {ast.unparse(tree.returns)}"
    line = re.sub(r"'([A-Z]\w*)'", r"\1", f"{name}({ast.unparse(tree.args)}){returned}")  # names before their class
    return line if len(line) <= 100 else _lines(name, line)


def _lines(name: str, line: str) -> str:
    """A long signature over several lines, cut at the commas between parameters."""
    inside, depth, start = line[len(name) + 1 :], 0, 0
    pieces: list[str] = []
    for position, character in enumerate(inside):
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            pieces.append(inside[start:position])
            return f"{name}(\n" + "".join(f"    {piece.strip()},\n" for piece in pieces) + inside[position:]
        if character == "," and depth == 0:
            pieces.append(inside[start:position])
            start = position + 1
    raise AssertionError(f"{line}: no end of the parameters")


def _class(kind: type, name: str, level: int = 2) -> list[str]:
    parts = [f"{'#' * level} `{name}`", *_doc(kind)]
    if issubclass(kind, BaseModel):
        parts.append("Its keys are in [the configuration](configuration.md).")
        return parts
    if fields := _fields(kind):
        parts.append(_table(("field", "type", "default", ""), fields))
    for method, function in _methods(kind):
        parts += _function(function, method, level + 1)
    if properties := list(_properties(kind)):
        parts.append(_table(("property", ""), properties))
    return parts


def _fields(kind: type) -> list[tuple[str, ...]]:
    if not dataclasses.is_dataclass(kind):
        return []
    told, types = _attribute_docs(kind), _types(kind)
    return [
        (
            f"`{field.name}`",
            _cell(f"`{types[field.name]}`"),
            "required" if field.default is dataclasses.MISSING else f"`{field.default!r}`",
            _cell(told.get(field.name, "")),
        )
        for field in dataclasses.fields(kind)
    ]


def _types(kind: type) -> dict[str, str]:
    """The types of a class's fields, as the source has them."""
    types: dict[str, str] = {}
    for one in reversed([one for one in kind.__mro__ if dataclasses.is_dataclass(one)]):
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
        assert isinstance(tree, ast.ClassDef)
        types |= {
            field.target.id: ast.unparse(field.annotation).strip("'")
            for field in tree.body
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        }
    return types


def _attribute_docs(kind: type) -> dict[str, str]:
    """The strings that stand below fields."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    told = {}
    for field, after in zip(tree.body, tree.body[1:], strict=False):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                told[name] = inspect.cleandoc(text)
    return told


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods that are documented, as they stand in the class."""
    for name, member in vars(kind).items():
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if not name.startswith("_") and isinstance(function, FunctionType) and function.__doc__:
            yield name, function


def _properties(kind: type) -> Iterator[tuple[str, str]]:
    for name, member in vars(kind).items():
        if not name.startswith("_") and isinstance(member, property):
            yield f"`{name}`", _cell(inspect.getdoc(member) or "")


# Markdown


def _doc(thing: Any) -> list[str]:
    """A docstring as Markdown; indented examples become code."""
    text = inspect.getdoc(thing) or ""
    return [_escape(paragraph) for paragraph in text.split("\n\n") if paragraph]


def _escape(text: str) -> str:
    """Text as Markdown that looks the same: what is code stays, the rest keeps its signs."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(one if one.startswith("`") else re.sub(r"([<>*_|\[\]])", r"\\\1", one) for one in pieces)


def _cell(text: str) -> str:
    """Text within a table."""
    return _escape(" ".join(text.split()))


def _code(text: str) -> str:
    return f"`{text}`"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _page(parts: list[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"
