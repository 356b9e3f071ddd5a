"""Dotted settings on a command line (`--model.d_ff 4288`), told apart from a command's own options."""

from collections.abc import Sequence


def split_overrides(arguments: Sequence[str], also: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """`arguments` without the settings of a recipe, and the settings with their values.

    argparse cannot do this: it would take the value of an option it does not know for the name of the
    recipe. A setting is an option with a dot in its name, or one of `also` (as "--init_from").

    >>> split_overrides(["--model.d_ff", "4288", "x.yaml", "--json", "--training.compile=true"])
    (['x.yaml', '--json'], ['--model.d_ff', '4288', '--training.compile=true'])
    """
    rest: list[str] = []
    settings: list[str] = []
    waiting = list(arguments)
    while waiting:
        argument = waiting.pop(0)
        name, equals, _ = argument.partition("=")
        if not (name.startswith("--") and ("." in name or name in also)):
            rest.append(argument)
            continue
        settings.append(argument)
        if not equals and waiting and not waiting[0].startswith("--"):
            settings.append(waiting.pop(0))
    return rest, settings
