"""Which packages neither need torch nor know it: `python packages_without_torch.py METADATA`.

METADATA has a line of JSON for each package, as a package index tells of it: its `name`, its
`summary`, what it `requires` (with all extras; null: nothing) and its `classifiers`. Writes
`src/mpslint/facts/without_torch.json`. What such a package is given of tensors it reads as arrays,
where it needs NumPy or what is made of it, or not at all.

Left out is what needs a package that needs torch or another library of device arrays, what says by
its name, its summary or its classifiers that it is about such, and names that projects give to
modules of their own.
"""

from __future__ import annotations

import datetime
import json
import re
import sys
from pathlib import Path

_FACTS = Path(__file__).parent.parent / "src/mpslint/facts"
_OUT = _FACTS / "without_torch.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_DEVICES = re.compile(
    r"torch|tensor|cuda|nvidia|gpu|jax|flax|xla|cupy|triton|rocm|onnx|mxnet|paddle|keras|neural"
    r"|deep.?learning|transformers?\b|diffus|lightning|timm|accelerate|kornia|\bdgl\b|fastai|peft"
    r"|language model|\bllm|embedding|stable.?baselines|reinforcement",
    re.I,
)
"""What is about tensors on devices, or may hand some on."""
_OF_ARRAYS = ("numpy", "pandas", "scipy", "pillow", "pyarrow", "matplotlib", "polars", "h5py")
_IMPORTED_AS = {
    "pymupdf": "fitz",
    "pyopengl": "opengl",
    "beautifulsoup4": "bs4",
    "faster-coco-eval": "faster_coco_eval",
    "python-dateutil": "dateutil",
    "pillow": "pil",
    "pyyaml": "yaml",
    "scikit-image": "skimage",
    "opencv-python": "cv2",
    "attrs": "attr",
    "gitpython": "git",
    "python-docx": "docx",
    "python-pptx": "pptx",
    "pyserial": "serial",
    "pyzmq": "zmq",
    "protobuf": "google",
    "mysql-connector-python": "mysql",
    "psycopg2-binary": "psycopg2",
    "msgpack-python": "msgpack",
    "python-levenshtein": "levenshtein",
    "pyjwt": "jwt",
    "python-multipart": "multipart",
    "umap-learn": "umap",
    "pydicom": "pydicom",
    "simpleitk": "simpleitk",
}
# fmt: off
_OWN = frozenset((
    "art", "base", "build", "callbacks", "cli", "common", "config", "configs", "configuration",
    "constants", "core", "data", "database", "dataset", "datasets", "datamodule", "db", "decoder",
    "demo", "encoder", "engine", "env", "envs", "environment", "evaluate", "evaluation", "eval",
    "example", "examples", "experiment", "experiments", "features", "functional", "functions",
    "generate", "helper", "helpers", "infer", "inference", "input", "io", "layers", "lib", "libs",
    "logger", "logging", "loss", "losses", "main", "metric", "metrics", "model", "models",
    "modules", "net", "nets", "network", "networks", "nn", "ops", "options", "optim", "optimizer",
    "output", "params", "parser", "pipeline", "plot", "plugins", "predict", "preprocess",
    "preprocessing", "process", "project", "runner", "sampler", "samplers", "schedule",
    "scheduler", "script", "scripts", "server", "settings", "setup", "solver", "src", "style",
    "task", "tasks", "test", "testing", "tests", "timer", "tokenizer", "tool", "tools", "train",
    "trainer", "trainers", "training", "transform", "transforms", "types", "util", "utilities",
    "utils", "vis", "visualize", "visualization", "vision", "worker", "workers", "wrappers",
))
# fmt: on
"""Names of modules that stand in many projects, or of another package's module: who imports one
does not mean the package."""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _with_users(packages: set[str], needs: dict[str, set[str]]) -> set[str]:
    """These, and all that need one of them, be it by way of others."""
    found = set(packages)
    while more := {
        name for name, needed in needs.items() if name not in found and not needed.isdisjoint(found)
    }:
        found |= more
    return found


def _imported(packages: set[str]) -> set[str]:
    names = {_IMPORTED_AS.get(name, name.replace("-", "_")) for name in packages}
    return {name for name in names - _OWN - _said() if len(name) > 2}


def _said() -> set[str]:
    """First names of packages of which `priors.json` says something."""
    priors = json.loads((_FACTS / "priors.json").read_text(encoding="utf-8"))
    sections = (section.get("rows", {}) for section in priors.values())
    return {re.split(r"\W", row)[0].lower() for rows in sections for row in rows}


def main(path: str) -> None:
    with open(path, encoding="utf-8") as stream:
        rows = [row for row in map(json.loads, stream) if "error" not in row]
    needs: dict[str, set[str]] = {}
    about: set[str] = set()
    for row in rows:
        name, required = normal(row["name"]), row["requires"] or ()
        named = [(normal(found[0]), one) for one in required if (found := _NAME.match(one))]
        # What an extra asks for is not there for all: it says what the package knows of, no more.
        needs[name] = {other for other, one in named if "extra ==" not in one}
        words = (row["name"], row["summary"] or "", *row["classifiers"], *(n for n, _ in named))
        if _DEVICES.search(" ".join(words)):
            about.add(name)
    about = _with_users(about, needs)
    free = _imported(set(needs) - about)
    arrays = _imported(_with_users(set(_OF_ARRAYS), needs) - about) & free
    section = {
        "source": "what the packages say that they need, on the day of this date",
        "date": str(datetime.date.today()),
        "asked": len(rows),
        "names": sorted(free - arrays),
        "of_arrays": sorted(arrays),
    }
    _OUT.write_text(json.dumps({"packages": section}, indent=1) + "\n", encoding="utf-8")
    print(f"{len(free)} of {len(rows)} packages neither need torch nor know it")


if __name__ == "__main__":
    main(*sys.argv[1:])
