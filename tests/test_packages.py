"""The packages: which may import which (docs/architecture.md), and that importing them costs nothing."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "regard"
GROUND = {"code_version", "config", "cores", "errors", "files", "regard"}  # what every package may import
ORDER = (  # a package may import those before it that its row names, never those after it
    ("text", ""),
    ("documents", "text"),
    ("data", "text"),
    ("terms", "text documents"),
    ("memory", "text data documents terms"),
    ("model", ""),
    ("saved", "text model"),
    ("search", "text model"),
    ("train", "text data terms model saved search"),
    ("exchange", "text model saved"),
    ("engines", "text model saved search exchange"),
    ("translate", "text documents terms memory model saved search exchange engines"),
    ("bulk", "data saved translate"),
    ("evaluate", "text data terms memory model saved search exchange engines translate"),
    ("look", "text model saved search engines translate"),
    ("serve", "text documents terms memory model saved search engines translate look"),
    ("pairs", "text data documents terms memory model saved search engines translate bulk evaluate"),
    ("recipe", "text data model saved train search engines translate evaluate"),
    ("tuning", "text data terms memory model saved train search engines translate evaluate"),
    ("paper", "text data model saved train search engines translate evaluate look"),
    ("demo", "text data model saved train search engines translate evaluate look"),
)
ALLOWED: dict[str, set[str]] = {package: set(others.split()) for package, others in ORDER}
ALLOWED["cli"] = set(ALLOWED)
EXCEPTIONS = {("translate/translator.py", "look")}  # translator.look(text) imports the package below when it is called
LIBRARIES: dict[str, set[str]] = {
    "text": {"sentencepiece", "py3langid", "numpy"},  # py3langid's tables are arrays
    "documents": {"yaml"},
}  # packages that may import no other libraries
CONCRETE = {
    "transformer",
    "recurrent",
    "gnmt",
    "deep",
    "deep_attention",
    "convolutional",
    "stacked",
    "dilated",
    "feedforward",
}
MOST_FILES = {"model": 12}  # a learner reads them all; other packages may have 18


def files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def package(path: Path) -> str:
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else "regard"


def imported(path: Path) -> set[str]:
    """Every module that a file imports, wherever in the file, as a dotted name."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            assert node.module is not None
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", files(), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_packages_import_only_those_before_them(path: Path) -> None:
    here = package(path)
    if here in GROUND:
        return
    assert here in ALLOWED, f"{here} is not in the table of imports"
    for name in imported(path):
        if not name.startswith("regard."):
            continue
        there = name.split(".")[1]
        if (
            there not in GROUND
            and (SOURCE / there).is_dir()
            and (path.relative_to(SOURCE).as_posix(), there) not in EXCEPTIONS
        ):
            assert there == here or there in ALLOWED[here], f"{path}: {here} may not import {there}"
        if here in ("search", "engines", "translate") and there == "model":
            assert not CONCRETE & set(name.split(".")), f"{path}: search knows the contract, not an architecture"


@pytest.mark.parametrize("path", files(), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_nothing_below_imports_the_command_line_and_no_package_imports_what_it_should_not(path: Path) -> None:
    here, names = package(path), imported(path)
    if here not in ("cli", "regard"):
        assert not any(name.startswith(("regard.cli", "typer", "rich")) for name in names)
    if here in LIBRARIES:
        outside = {name.split(".")[0] for name in names} - set(sys.stdlib_module_names) - {"regard"}
        assert outside <= LIBRARIES[here], f"{path}: {here} may not use {outside - LIBRARIES[here]}"
    assert not {"pickle", "dill", "joblib", "shelve", "marshal"} & {name.split(".")[0] for name in names}


def test_ground_floor_stands_on_nothing() -> None:
    for path in files():
        if path.relative_to(SOURCE).parts[0].removesuffix(".py") in GROUND - {"regard"}:
            for other in imported(path):
                assert not other.startswith("regard.") or other.split(".")[1] in {*GROUND, "__version__"}


def test_package_files_are_empty() -> None:
    for path in SOURCE.rglob("__init__.py"):
        if path.parent != SOURCE:
            assert path.read_text() == "", f"{path} holds nothing, so that importing a package costs nothing"


@pytest.mark.parametrize("statement", ["import regard", "import regard.cli.main", "import regard.config.run"])
def test_torch_is_not_paid_for_unless_used(statement: str) -> None:
    code = f"import sys; {statement}; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_plain_text_is_translated_without_what_it_does_not_need() -> None:
    unneeded = "{'torch', 'regard.documents.translate', 'regard.exchange.check_ctranslate2'}"
    code = (
        "import sys; sys.argv = ['regard', 'translate', 'Hi.']\n"
        "from regard.cli.main import app; app(standalone_mode=False)\n"
        f"sys.exit(str({unneeded} & set(sys.modules)) if {unneeded} & set(sys.modules) else 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "") and result.stdout.strip()


def packages() -> set[str]:
    """Every folder of the package that holds code, such as model and model/kernels."""
    folders = {path.parent.relative_to(SOURCE).as_posix() for path in files()}
    return {folder for folder in folders if folder != "."}


@pytest.mark.parametrize("name", sorted(packages()))
def test_no_package_is_crowded(name: str) -> None:
    inside = [path.name for path in (SOURCE / name).glob("*.py") if path.name != "__init__.py"]
    assert len(inside) <= MOST_FILES.get(name, 17), f"{name} needs sub-packages: {len(inside)} files beside __init__.py"


def test_module_names_do_not_repeat_their_package() -> None:
    assert not [path for path in files() if path.stem == path.parent.name], "say what it is, as in saved/saved_model.py"


def mapped(page: str) -> list[str]:
    """The packages that a README's map shows, in its order."""
    text = (SOURCE.parents[1] / page).read_text(encoding="utf-8")
    lines = re.findall(r"^  ((?:\w+/ +)+)", text[text.index("\nsrc/regard/\n") :], re.MULTILINE)
    return [name for names in lines for name in names.replace("/", " ").split()]


def described() -> set[str]:
    """The packages and sub-packages that docs/architecture.md describes."""
    text = (SOURCE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8").split("## The life")[0]
    names = re.findall(r"`([a-z0-9.]+)`", " ".join(re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)))
    return {name.replace(".", "/") for name in names}


def test_the_architecture_describes_every_package() -> None:
    assert described() == packages() >= {"model", "model/kernels", "demo", "cli"}


@pytest.mark.parametrize("page", ["README.md", "README.ko.md"])
def test_the_map_of_a_readme_has_the_packages_in_the_order_of_their_use_on_one_screen(page: str) -> None:
    assert mapped(page) == ["config", *(name for name, _ in ORDER), "cli"]
    text = (SOURCE.parents[1] / page).read_text(encoding="utf-8")
    assert text[text.index("\nsrc/regard/\n") :].split("```")[0].count("\n") <= 30


def test_public_names_exist() -> None:
    import regard

    for name in regard.__all__:
        assert getattr(regard, name) is not None
    assert "preset" in dir(regard)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        regard.nothing  # noqa: B018


def test_functions_that_share_a_package_s_name_stay_callable() -> None:
    code = (
        "import regard; import regard.train.loop as loop; import regard.evaluate.bleu\n"
        "assert callable(regard.train) and callable(regard.evaluate) and regard.train.loop is loop\n"
        "try: regard.train(regard.preset('tiny'), None, 'x')\n"
        "except regard.UserError as error: assert '--data' in str(error)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
