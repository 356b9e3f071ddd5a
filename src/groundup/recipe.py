"""Recipes: a YAML file and dotted overrides in, a checked `RunConfig` out; and back to YAML.

The types come from the dataclasses of config.py and are checked by jsonargparse; here are only the
sentences a user reads when a name or a value is wrong. A key that does not exist is an error.
"""

import dataclasses
import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_type_hints

from groundup.config import RunConfig
from groundup.errors import ConfigError
from groundup.files import StrPath, spelled


def read_config(path: StrPath | None = None, overrides: Sequence[str] = ()) -> RunConfig:
    """The configuration of a recipe with overrides such as `["--optimizer.lr", "3e-3"]` on top.

    Without a path the defaults of config.py are the base. Raises ConfigError for a file that cannot
    be read, a key that does not exist (with the nearest that does) or a value of the wrong type.
    """
    types = dict(_field_types(RunConfig))
    arguments = _normalise(overrides, types)
    if path is not None:
        import yaml

        content = _read_yaml(path)
        _check_keys(content, types, path)
        # As text in ASCII, not as a path: jsonargparse would read the file in the encoding of the locale.
        arguments = ["--config", yaml.safe_dump(content), *arguments]
    values = _parse(arguments, types)
    return _build(RunConfig, values)


def override(config: RunConfig, overrides: Sequence[str]) -> RunConfig:
    """`config` with overrides such as `["--optimizer.lr", "3e-3"]` on top; ConfigError as `read_config`."""
    import yaml

    types = dict(_field_types(RunConfig))
    arguments = ["--config", yaml.safe_dump(_plain(dataclasses.asdict(config))), *_normalise(overrides, types)]
    return _build(RunConfig, _parse(arguments, types))


def changed(config: Any, settings: Mapping[str, Any]) -> Any:
    """A configuration with the fields of these dotted names replaced.

    >>> changed(RunConfig(), {"optimizer.lr": 0.25, "out": "runs/a"}).optimizer.lr
    0.25
    """
    parts: dict[str, dict[str, Any]] = {}
    fields: dict[str, Any] = {}
    for name, value in settings.items():
        group, dot, rest = name.partition(".")
        if dot:
            parts.setdefault(group, {})[rest] = value
        else:
            fields[name] = value
    fields |= {group: changed(getattr(config, group), inner) for group, inner in parts.items()}
    return dataclasses.replace(config, **fields)


def setting(config: Any, name: str) -> Any:
    """The value that a configuration has under a dotted name.

    >>> setting(RunConfig(), "model.d_model")
    512
    """
    for part in name.split("."):
        config = getattr(config, part)
    return config


def write_config(config: RunConfig) -> str:
    """The configuration as YAML that `read_config` reads back to an equal one."""
    import yaml

    return yaml.safe_dump(_plain(dataclasses.asdict(config)), sort_keys=False, allow_unicode=True)


def differences(a: Any, b: Any, prefix: str = "") -> dict[str, tuple[Any, Any]]:
    """Dotted names of the fields in which two configurations differ, with both values."""
    found: dict[str, tuple[Any, Any]] = {}
    for field in dataclasses.fields(a):
        ours, theirs, name = getattr(a, field.name), getattr(b, field.name), prefix + field.name
        if dataclasses.is_dataclass(ours):
            found |= differences(ours, theirs, name + ".")
        elif ours != theirs:
            found[name] = (ours, theirs)
    return found


def _parse(arguments: list[str], types: Mapping[str, Any]) -> dict[str, Any]:
    from jsonargparse import ArgumentError, ArgumentParser

    parser = ArgumentParser(exit_on_error=False, parser_mode="yaml")
    parser.add_argument("--config", action="config")
    parser.add_class_arguments(RunConfig)
    try:
        return parser.parse_args(arguments).as_dict()
    except ArgumentError as error:
        raise ConfigError(_explain(str(error), types)) from None


def _explain(message: str, types: Mapping[str, Any]) -> str:
    """Our sentence for what jsonargparse found."""
    message = " ".join(message.split())
    if found := re.search(r'key "([\w.]+)": .*?(?:Got|Given) value: (.*)$', message):
        name, value = found.groups()
        return f"{name} is {value!r}; it must be {_describe(types.get(name))}"
    if found := re.search(r"argument --([\w.]+): expected one argument", message):
        return f"--{found[1]} needs a value: {_describe(types.get(found[1]))}"
    return message


def _describe(kind: Any) -> str:
    """A type in words."""
    text = getattr(kind, "__name__", None) if isinstance(kind, type) else str(kind)
    words = {"int": "a whole number", "float": "a number", "str": "text", "bool": "true or false"}
    if text in words:
        return words[text]
    text = str(text)
    if choices := re.findall(r"'(\w+)'", text):
        return "one of " + ", ".join(choices)
    if text.endswith(" | None"):
        return words.get(text.removesuffix(" | None"), text) + " or null"
    if text.startswith("tuple"):
        return "a list such as [a, b]"
    return text


def _read_yaml(path: StrPath) -> Any:
    import yaml

    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"there is no recipe {str(path)!r}; see the folder recipes/") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"recipe {str(path)!r} cannot be read: {error}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        raise ConfigError(
            f"recipe {str(path)!r} is not valid YAML{where}: {getattr(error, 'problem', error)}"
        ) from None
    if not isinstance(content, dict):
        raise ConfigError(f"recipe {str(path)!r} holds no settings; it needs lines such as 'model:'")
    return content


def _check_keys(content: Mapping[str, Any], types: Mapping[str, Any], path: StrPath, prefix: str = "") -> None:
    groups = {name.rpartition(".")[0] for name in types} - {""}
    for key, value in content.items():
        name = f"{prefix}{key}"
        if name in groups:
            if not isinstance(value, dict):
                raise ConfigError(f"{name} in recipe {str(path)!r} is {value!r}; it must hold settings of its own")
            _check_keys(value, types, path, f"{name}.")
        elif name not in types:
            raise ConfigError(f"recipe {str(path)!r} has an unknown key {name!r}{_hint(name, [*types, *groups])}")


def _normalise(overrides: Sequence[str], types: Mapping[str, Any]) -> list[str]:
    """Overrides as `--name=value`: bare flags mean true, and 1e3 counts as a whole number."""
    result: list[str] = []
    items = list(overrides)
    while items:
        option = items.pop(0)
        name, equals, value = option.removeprefix("--").partition("=")
        if not option.startswith("--"):
            raise ConfigError(f"{option!r} is not an option; write --name value")
        if name not in types:
            raise ConfigError(f"unknown option --{name}{_hint('--' + name, ['--' + known for known in types])}")
        if not equals:
            if items and not items[0].startswith("--"):
                value = items.pop(0)
            elif types[name] is bool:
                value = "true"
            else:
                raise ConfigError(f"--{name} needs a value: {_describe(types[name])}")
        if types[name] in (int, int | None) and re.fullmatch(r"\d+(\.\d*)?[eE]\+?\d+", value):
            number = float(value)
            value = str(int(number)) if number.is_integer() else value
        result.append(f"--{name}={value}")
    return result


def _hint(name: str, names: Sequence[str]) -> str:
    """The nearest existing name; the last part of a dotted name counts when the group is missing."""
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    close = close or [known for known in names if known.rpartition(".")[2] == name.lstrip("-")][:1]
    return f"; did you mean {close[0]}?" if close else ""


def _field_types(kind: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    hints = get_type_hints(kind)
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        if dataclasses.is_dataclass(hint):
            yield from _field_types(hint, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", hint


def _build(kind: Any, values: Mapping[str, Any]) -> Any:
    hints = get_type_hints(kind)
    arguments: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        value = values[field.name]
        arguments[field.name] = (
            _build(hints[field.name], value) if dataclasses.is_dataclass(hints[field.name]) else value
        )
    return kind(**arguments)


def _plain(value: Any) -> Any:
    """Tuples as lists, which YAML has, and names of files as text that it can hold."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, str):
        return spelled(value)
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
