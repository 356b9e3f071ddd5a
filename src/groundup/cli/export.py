"""`groundup export hf|gguf|llama2c`: a run in the form that other programs load."""

import argparse
import json
import logging
from pathlib import Path

from groundup.cli.parser import Parser
from groundup.cli.progress import log_from

_DTYPES = {"hf": ("float32", "bf16"), "gguf": ("float32", "float16", "bf16", "q8_0"), "llama2c": ("float32",)}
_WHAT = {
    "hf": "a folder for transformers and the Hugging Face Hub",
    "gguf": "a file for llama.cpp",
    "llama2c": "a folder with model.bin and tokenizer.bin for llama2.c",
}


def main(arguments: list[str]) -> int:
    """Write the export and say where it is."""
    options = _parser().parse_args(arguments)

    from groundup.checkpoint import load_run

    run = load_run(options.run, which=options.which)
    if options.format == "hf":
        from groundup.interop.huggingface import export_huggingface

        out = export_huggingface(run, options.out, dtype=options.dtype, license=options.license)
    elif options.format == "gguf":
        from groundup.interop.gguf import export_gguf

        with log_from(logging.WARNING, "gguf"):  # the package names files that are not the one asked for
            out = export_gguf(run, options.out, dtype=options.dtype)
    else:
        from groundup.interop.llama2c import export_llama2c

        out = export_llama2c(run, options.out)
    files = sorted(out.iterdir()) if out.is_dir() else [out]
    sizes = {file.name: file.stat().st_size for file in files}
    if options.json:
        print(json.dumps({"out": str(out), "checkpoint": str(run.folder), "dtype": options.dtype, "files": sizes}))
        return 0
    print(f"checkpoint  {run.folder}")
    print(f"written     {out}")
    for name, size_bytes in sizes.items():
        print(f"  {size_bytes:>13,} bytes  {name}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="groundup export",
        description="Write a run in the form that other programs load. What exists is never replaced.",
        example="groundup export hf runs/demo/run --out exports/demo --dtype bf16",
    )
    formats = parser.add_subparsers(dest="format", required=True, metavar="hf|gguf|llama2c")
    for name, what in _WHAT.items():
        one = formats.add_parser(
            name,
            help=what,
            description=f"Write a run as {what}.",
            example=f"groundup export {name} runs/demo/run --out exports/demo{'.gguf' if name == 'gguf' else ''}",
        )
        one.add_argument("run", metavar="RUN", help="run folder or checkpoint folder")
        one.add_argument("--out", metavar="PATH", type=Path, required=True, help="where it is written")
        one.add_argument(
            "--dtype", choices=_DTYPES[name], default="float32", help="type of the matrices (default: float32)"
        )
        one.add_argument("--which", choices=("best", "latest"), default="best", help="checkpoint of a run folder")
        one.add_argument("--json", action="store_true", help="print what was written as JSON")
        if name == "hf":
            one.add_argument(
                "--license", default="unknown", metavar="NAME", help="for the model card: mit, apache-2.0, ... "
            )
    return parser
