"""Compile the native engine with an installed C++ compiler.

The package's build hook (hatch_build.py) runs this file by its path, so it imports nothing of regard. By hand:

    python -m regard.engines.native.build
"""

import argparse
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parent / "source"
LIBRARY = Path(__file__).parent / "libregard_native.so"
FLAGS = [
    "-std=c++17",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffp-contract=off",
    "-pthread",
    "-Wall",
    "-Wextra",
    "-Wno-psabi",
    f"-I{SOURCE}",
]
AVX512 = ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mavx512vnni", "-mfma"]
VECTORS = {"kernels_avx2.cpp": ["-mavx2", "-mfma"], "kernels_avx512.cpp": AVX512, "kernels_amx.cpp": AVX512}
"""Compiler flags of the files for an instruction set, one of which is chosen at run time."""
AMX = "kernels_amx.cpp"
SANITIZERS = {  # memory and undefined behaviour, or data races
    "address": ["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=thread"],
}
TIMEOUT = 900  # seconds per file


class BuildFailed(Exception):
    """The library could not be built; the message says why."""


def find_compiler() -> str | None:
    """Return the C++ compiler that $CXX names, or the first that is found."""
    given = os.environ.get("CXX")
    return shutil.which(given) if given else next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)


def build(out: Path = LIBRARY, *, sanitizer: str | None = None, emulated: bool = False) -> None:
    """Build the library, and write it atomically.

    emulated: emulate AVX-512 with SIMDe, so that a processor without it can test those kernels.
    """
    compiler = find_compiler()
    if compiler is None:
        raise BuildFailed("there is no C++ compiler")
    with tempfile.TemporaryDirectory(prefix="regard-") as temporary:
        amx = _is_x86() and (emulated or _assembles_amx(compiler))
        compiled = [
            (
                Path(temporary) / f"{file.stem}.o",
                _flags(file.name, sanitizer=sanitizer, emulated=emulated, amx=amx),
                file,
            )
            for file in sorted(SOURCE.rglob("*.cpp"))
            if (_is_x86() or file.name not in VECTORS) and (amx or file.name != AMX)
        ]
        jobs = [
            _start([compiler, *flags, "-c", str(file), "-o", str(object_)], file.name)
            for object_, flags, file in compiled
        ]
        for name, job in jobs:
            _finish(name, job)
        link = [compiler, "-shared", "-pthread", *SANITIZERS.get(sanitizer or "", ["-O3"])]
        library = Path(temporary) / out.name
        _finish(*_start([*link, *(str(object_) for object_, _, _ in compiled), "-o", str(library)], out.name))
        out.parent.mkdir(parents=True, exist_ok=True)
        partial = out.with_suffix(".partial")
        shutil.copyfile(library, partial)
        partial.replace(out)


def _is_x86() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64")


def _assembles_amx(compiler: str) -> bool:
    """Return whether the compiler's assembler knows AMX; those before 2020 do not."""
    command = [compiler, "-x", "c++", "-c", "-", "-o", os.devnull]
    program = 'void release() { asm volatile("tilerelease"); }'
    done = subprocess.run(command, input=program, text=True, capture_output=True, check=False, timeout=TIMEOUT)  # noqa: S603
    return done.returncode == 0


def _flags(name: str, *, sanitizer: str | None, emulated: bool, amx: bool) -> list[str]:
    flags = [*FLAGS, *SANITIZERS.get(sanitizer or "", ["-O3"])]
    if _is_x86():
        flags.append("-DREGARD_X86")
    if amx:
        flags.append("-DREGARD_AMX")
    if emulated:
        flags.append("-DREGARD_SIMDE")
        if name in ("kernels_avx512.cpp", AMX):  # slow to compile, and only the results matter
            return [*flags, "-O1", "-w", *VECTORS["kernels_avx2.cpp"]]
    return flags + VECTORS.get(name, [])


def _start(command: list[str], name: str) -> tuple[str, subprocess.Popen[str]]:
    return name, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # noqa: S603


def _finish(name: str, job: subprocess.Popen[str]) -> None:
    try:
        output, _ = job.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        job.kill()
        raise BuildFailed(f"the compiler took too long over {name}") from None
    if job.returncode != 0:
        raise BuildFailed(f"the compiler failed on {name}: {output[-2000:]}")


def main() -> None:
    """Build the library from the command line."""
    parser = argparse.ArgumentParser(description="Compile regard's native engine.")
    parser.add_argument("--out", type=Path, default=LIBRARY)
    parser.add_argument("--sanitizer", choices=SANITIZERS, help="AddressSanitizer and UBSan, or ThreadSanitizer")
    parser.add_argument("--emulated", action="store_true", help="AVX-512 emulated by SIMDe, for tests")
    arguments = parser.parse_args()
    build(arguments.out, sanitizer=arguments.sanitizer, emulated=arguments.emulated)


if __name__ == "__main__":
    main()
