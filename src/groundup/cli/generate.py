"""`groundup generate`: continue a prompt, streaming; several prompts or samples at once; or a conversation."""

import argparse
import json
import sys
from typing import Any

from groundup.cli.parser import Parser, typed_text


def main(arguments: list[str]) -> int:
    """Write text after each prompt; without one, ask for prompts until the input ends."""
    options = _parser().parse_args(arguments)

    from groundup.checkpoint import load_run
    from groundup.device import choose_device
    from groundup.generation.sampling import SamplingConfig

    config = SamplingConfig(
        max_tokens=options.max_tokens,
        temperature=options.temperature,
        top_p=options.top_p,
        top_k=options.top_k,
        repetition_penalty=options.repetition_penalty,
        seed=options.seed,
        stop=tuple(options.stop),
    )
    run = load_run(options.run, which=options.which, device=choose_device(options.device))
    if options.prompt is None:
        return _interact(run, config, options)
    _write(run, options.prompt, config, options)
    return 0


def _write(run: Any, prompts: list[str], config: Any, options: argparse.Namespace) -> None:
    """The texts of all prompts: one is streamed, several are written side by side."""
    if len(prompts) == options.num_samples == 1 and not options.json:
        _stream(run, prompts[0], config, options)
        return
    from groundup.generation.text import generate

    completions = generate(
        run,
        prompts,
        config=config,
        num_samples=options.num_samples,
        kernels=options.kernels,
        weights=options.weights,
    )
    for number, completion in enumerate(completions):
        if options.json:
            fields = {name: getattr(completion, name) for name in ("prompt", "text", "ids", "logprobs", "stop_reason")}
            print(json.dumps(fields, ensure_ascii=False))
        else:
            print(f"{'' if number == 0 else chr(10)}--- {number + 1} of {len(completions)} ---")
            print(completion.prompt + completion.text)


def _stream(run: Any, prompt: str, config: Any, options: argparse.Namespace) -> None:
    from groundup.generation.text import stream_text

    pieces = stream_text(run, prompt, config=config, kernels=options.kernels, weights=options.weights)
    sys.stdout.write(prompt)
    for piece in pieces:
        sys.stdout.write(piece)
        sys.stdout.flush()
    print()


def _interact(run: Any, config: Any, options: argparse.Namespace) -> int:
    """Read a prompt a line and continue it, until the end of the input (Ctrl-D) or Ctrl-C."""
    asks = sys.stdin.isatty()
    if asks:
        print("Type the beginning of a text; an empty line starts from nothing, Ctrl-D ends.", file=sys.stderr)
    while True:
        if asks:
            print("> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            if asks:
                print(file=sys.stderr)
            return 0
        _write(run, [line.rstrip("\n")], config, options)
        sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="groundup generate",
        description="Continue a prompt. Without --prompt, read prompts from the terminal or from a pipe, a line each.",
        example='groundup generate runs/demo --prompt "Once upon a time" --temperature 0.8 --top_p 0.95',
    )
    parser.add_argument("run", metavar="RUN", help="run folder or checkpoint folder")
    parser.add_argument(
        "--prompt", type=typed_text, action="append", help="beginning of the text; may be given several times"
    )
    parser.add_argument("--max_tokens", type=int, default=256, help="most tokens to write (default: 256)")
    parser.add_argument("--temperature", type=float, default=0.8, help="0 takes the likeliest token (default: 0.8)")
    parser.add_argument(
        "--top_p", type=float, default=0.95, help="keep the likeliest tokens up to this probability (default: 0.95)"
    )
    parser.add_argument("--top_k", type=int, default=0, help="keep this many likeliest tokens; 0: all")
    parser.add_argument("--repetition_penalty", type=float, default=1.0, help="above 1: repeat less")
    parser.add_argument("--seed", type=int, default=None, help="the same seed writes the same text")
    parser.add_argument(
        "--stop", type=typed_text, action="append", default=[], metavar="TEXT", help="end before this text"
    )
    parser.add_argument("--num_samples", type=int, default=1, help="texts for each prompt")
    parser.add_argument("--which", choices=("best", "latest"), default="best", help="checkpoint of a run folder")
    parser.add_argument("--device", default="auto", help="auto (cuda, then mps, then cpu) or a name that torch knows")
    parser.add_argument(
        "--weights",
        choices=("float32", "bf16", "int8"),
        default="float32",
        help="as what the weights are read: narrower is faster and less exact (default: float32)",
    )
    parser.add_argument(
        "--kernels",
        choices=("auto", "reference"),
        default="auto",
        help="auto (native code where it takes the model) or reference (plain PyTorch)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line: prompt, text, ids, logprobs")
    return parser
