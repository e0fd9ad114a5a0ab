"""The weights of a Hugging Face folder: safetensors, in one file or in several with an index; never a pickle."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from regard.errors import UserError
from regard.files import read_json

WEIGHTS, INDEX, PICKLE = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"


class Tensors:
    """The tensors of a folder, read on demand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stack = ExitStack()
        self.files: dict[str, Any] = {}

    def __enter__(self) -> Self:
        try:
            for path in self._paths():
                file = self.stack.enter_context(safe_open(path, framework="pt"))
                self.files |= dict.fromkeys(file.keys(), file)
        except (SafetensorError, OSError) as error:
            self.stack.close()
            raise UserError(
                f"{self.folder}: its weights are not readable as safetensors ({error}); get them again"
            ) from None
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def _paths(self) -> list[Path]:
        if (self.folder / WEIGHTS).exists():
            return [self.folder / WEIGHTS]
        if not (self.folder / INDEX).exists():
            remedy = "get the whole folder"
            if (self.folder / PICKLE).exists():
                remedy = (
                    f"{PICKLE} is a pickle, which regard never opens: load it with transformers and save_pretrained it"
                )
            raise UserError(f"{self.folder / WEIGHTS}: missing; {remedy}")
        index = read_json(self.folder / INDEX)
        places = index.get("weight_map") if isinstance(index, dict) else None
        names = sorted(set(map(str, places.values()))) if isinstance(places, dict) else []
        if not names or any(Path(name).name != name or not (self.folder / name).is_file() for name in names):
            raise UserError(f"{self.folder / INDEX}: names no files, or such as are not there; get the whole folder")
        return [self.folder / name for name in names]

    def shape(self, name: str) -> list[int] | None:
        return list(self.files[name].get_slice(name).get_shape()) if name in self.files else None

    def get(self, name: str) -> Tensor | None:
        return self.files[name].get_tensor(name).to(torch.float32) if name in self.files else None

    def first(self, *names: str) -> str:
        """Return the first of several names for the same tensor that exists."""
        found = next((name for name in names if name in self.files), None)
        if found is None:
            raise UserError(f"{self.folder}: its weights have no {names[0]}; get them again")
        return found

    def __getitem__(self, name: str) -> Tensor:
        tensor = self.get(self.first(name))
        assert tensor is not None
        return tensor
