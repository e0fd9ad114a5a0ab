"""Tiny models that nobody trained, in three directions, and a server for the tests that change nothing about it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tests.serve.running import Running, running
from tests.support.models import like_trained
from tests.support.saving import save_built

from regard.config.run import Config
from regard.model.build import build
from regard.saved.folder import LoadedModel
from regard.translate.protected.protect import Protector


@pytest.fixture(scope="session")
def folders(saved: LoadedModel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Models by direction; en to fr goes by way of de."""
    place = tmp_path_factory.mktemp("served")
    found = {}
    for seed, (source, target) in enumerate((("en", "de"), ("de", "en"), ("de", "fr"))):
        torch.manual_seed(seed)
        model = build(saved.config).eval().requires_grad_(False)
        model.projection_VD.mul_(3.0)
        like_trained(model)
        folder: Path = place / f"{source}-{target}"
        config = Config(model=saved.config, decode=saved.decode)
        save_built(folder, model, config, saved.subwords, languages=(source, target))
        found[f"{source}-{target}"] = str(folder)
    return found


@pytest.fixture(scope="session")
def served(folders: dict[str, str]) -> Iterator[Running]:
    with running(*folders.values()) as found:
        yield found


@pytest.fixture
def model_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is protected or left in another language: each sentence is searched once."""
    monkeypatch.setattr(Protector, "_active", lambda self: False)
    monkeypatch.setattr(Protector, "other_languages", lambda self, text, parts: [None] * len(parts))
