"""The package's build hook: compiles the native engine into the wheel, or leaves it out and says why."""

import importlib.util
import os
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SKIP = "REGARD_SKIP_NATIVE"  # set to anything: do not compile


class NativeBuildHook(BuildHookInterface[Any]):
    """Runs engines/native/build.py, which needs nothing but a C++ compiler."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        native = _module(Path(self.root) / "src" / "regard" / "engines" / "native" / "build.py")
        if os.environ.get(SKIP):
            native.LIBRARY.unlink(missing_ok=True)
            self.app.display_warning(f"{SKIP} is set, so the native engine is not compiled")
            return
        try:
            native.build()
        except native.BuildFailed as error:
            native.LIBRARY.unlink(missing_ok=True)
            self.app.display_warning(f"regard's native engine is left out, and CTranslate2 serves instead: {error}")
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("regard_native_build", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
