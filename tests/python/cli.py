"""Runs `ft` as a user does and reads what it writes; knows nothing of the right answers."""

import array
import json
import os
import pathlib
import struct
import subprocess

import pytest

from conftest import BIN, ROOT

FT = BIN / "ft"
SHARED = ROOT / "../shared"
FULL = os.environ.get("FT_FULL_SWEEP", "") not in ("", "0")  # every combination: some minutes
TYPES = {"F32": "f", "I64": "q"}

needs_ft = pytest.mark.skipif(not FT.exists(), reason=f"{FT} is not built")


def needs(path):
    return pytest.mark.skipif(not pathlib.Path(path).exists(), reason=f"{path} is absent")


def ft(*arguments, code=0, stdin=None, env=None, cwd=None, timeout=120):
    """Runs ft; fails unless it exits with `code` (None: any)."""
    done = subprocess.run(
        [str(FT), *map(str, arguments)],
        input=stdin,
        capture_output=True,
        env=None if env is None else {**os.environ, **env},
        cwd=cwd,
        timeout=timeout,
    )
    done.out = done.stdout.decode()
    done.err = done.stderr.decode(errors="replace")
    if code is not None:
        assert done.returncode == code, f"ft {arguments} gave {done.returncode}: {done.err}"
    return done


def read_safetensors(path):
    """name -> (shape, flat array) of a file with F32 and I64 tensors."""
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            flat = array.array(TYPES[entry["dtype"]])
            flat.frombytes(data[8 + size + begin : 8 + size + end])
            tensors[name] = (entry["shape"], flat)
    return tensors


def write_safetensors(path, tensors):
    """Writes name -> (dtype, shape, bytes)."""
    header, begin = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        offsets = [begin, begin + len(data)]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
        begin += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            file.write(data)
