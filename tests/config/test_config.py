"""What a run is: settings that go together, and those that do not."""

from typing import Any

import pytest

from regard.config.model import model_config
from regard.config.presets import preset, preset_names
from regard.config.run import Config
from regard.errors import UserError


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"mixing": "performer", "neighbours": 4}, "a performer model has no neighbours"),
        ({"window": 8}, "a transformer model has no window"),
        ({"mixing": "linformer", "features": 9}, "a linformer model has no features"),
        ({"mixing": "longformer", "score": "additive"}, "needs scaled scores, not additive"),
        ({"mixing": "performer", "positions": "relative"}, "can't use relative positions"),
        ({"mixing": "linformer", "positions": "rotary"}, "can't use rotary positions"),
        ({"mixing": "linformer", "rank": 65, "max_length": 64}, "a rank of 65"),
        ({"mixing": "state-space", "state_size": 5}, "must be even, not 5"),
        ({"mixing": "hyena"}, "mixing"),
        ({"mixing": "mamba", "positions": "rotary"}, "can't use rotary positions"),
        ({"architecture": "recurrent", "mixing": "performer"}, "no mixing"),
    ],
)
def test_a_way_of_mixing_refuses_what_it_can_not_use(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        preset("base", model=changes)


def test_which_models_bound_their_texts() -> None:
    bounded = [{"positions": "learned"}, {"mixing": "linformer"}]
    assert all(model_config(**changes).position_limit for changes in bounded)
    assert not any(model_config(mixing=mixing).position_limit for mixing in ("attention", "longformer", "state-space"))


def test_two_vocabularies_do_not_share() -> None:
    assert not model_config(source_vocabulary=100).share_embeddings


def test_json_round_trip() -> None:
    for name in preset_names():
        config = preset(name)
        assert Config.model_validate_json(config.model_dump_json()) == config
