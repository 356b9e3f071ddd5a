"""`groundup import PATH --out RUN`: a model of another program as a run, to generate with and to train on."""

import argparse
import json
from pathlib import Path
from shlex import quote

from groundup.cli.parser import Parser


def main(arguments: list[str]) -> int:
    """Write the run folder and say how to go on."""
    options = _parser().parse_args(arguments)

    from groundup.checkpoint import load_run
    from groundup.interop.importing import import_model

    said = {name: getattr(options, name) for name in ("num_heads", "context_length", "rope_theta")}
    run = load_run(import_model(options.path, options.out, tokenizer=options.tokenizer, **said))
    if options.json:
        figures = {"run": str(options.out), "parameters": run.model.num_parameters()}
        print(json.dumps(figures | {"vocab_size": run.model.config.vocab_size}))
        return 0
    print(f"run        {options.out}")
    print(f"model      {run.model.num_parameters():,} parameters, context {run.model.config.context_length:,}")
    print(f"tokenizer  {run.tokenizer.vocab_size:,} entries")
    folder, recipe, words = (quote(str(options.out / name)) for name in ("", "config.yaml", "tokenizer.json"))
    print(f"train on   groundup train {recipe} --init_from {folder} --data.path DATA --out RUN")
    print(f"           with DATA from: groundup data prepare TEXT --tokenizer {words} --out DATA")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="groundup import",
        description="Read a model of another program: a Hugging Face folder of Llama's shape, a .gguf file, llama2.c's "
        ".bin, or a state dict (.pt).",
        example="groundup import stories260K.bin --tokenizer tok512.bin --out runs/stories260K",
    )
    parser.add_argument("path", metavar="PATH", type=Path, help="folder or file of the model")
    parser.add_argument("--out", metavar="RUN", type=Path, required=True, help="run folder to write")
    parser.add_argument("--tokenizer", metavar="FILE", type=Path, help="tokenizer.json or llama2.c's tokenizer.bin")
    parser.add_argument("--num_heads", type=int, help="of a state dict, which does not say it")
    parser.add_argument("--context_length", type=int, help="of a state dict; or fewer positions than a folder has")
    parser.add_argument("--rope_theta", type=float, help="of a state dict (default: 10000)")
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")
    return parser
