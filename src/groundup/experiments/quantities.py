"""Quantities as people write them: 22.7 M, 1 h 2 min, 3.4 GB. For pages and terminals, not for files."""

import math

# (from this value on, in units of, name)
_COUNTS = ((1e12, 1e12, " T"), (1e9, 1e9, " G"), (1e6, 1e6, " M"), (1e4, 1e3, " k"))
_BYTES = ((1e12, 1e12, " TB"), (1e9, 1e9, " GB"), (1e6, 1e6, " MB"), (1e3, 1e3, " kB"))
_WORDS = ((1e12, 1e12, " trillion"), (1e9, 1e9, " billion"), (1e6, 1e6, " million"))


def count(value: int | float) -> str:
    """A number of things to three digits, with commas below ten thousand.

    >>> count(22_696_448), count(8_192), count(327_680_000), count(65_536)
    ('22.7 M', '8,192', '328 M', '65.5 k')
    """
    return _scaled(value, _COUNTS)


def in_words(value: int | float) -> str:
    """The same for running text.

    >>> in_words(22_696_448), in_words(12_345), in_words(2.1e9)
    ('22.7 million', '12,345', '2.10 billion')
    """
    return _scaled(value, _WORDS)


def size(num_bytes: int | float) -> str:
    """A number of bytes to three digits, in powers of 1,000.

    >>> size(8_508_230_400), size(512)
    ('8.51 GB', '512 bytes')
    """
    return f"{num_bytes:,.0f} bytes" if num_bytes < 1e3 else _scaled(num_bytes, _BYTES)


def duration(seconds: int | float) -> str:
    """A time to about two digits, in its two largest units.

    >>> duration(3725), duration(59.2), duration(187), duration(0.25), duration(200_000)
    ('1 h 2 min', '59 s', '3 min 7 s', '0.25 s', '2 d 7 h')
    """
    if not math.isfinite(seconds):
        return "–"
    if seconds < 10:
        return f"{seconds:.2g} s"
    whole = round(seconds)
    for unit, name, part, part_name in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= unit:
            rest = whole % unit // part
            return f"{whole // unit} {name} {rest} {part_name}" if rest else f"{whole // unit} {name}"
    return f"{whole} s"


def significant(value: int | float, digits: int = 3) -> str:
    """A number to so many digits, with commas and without an exponent where that reads well.

    >>> significant(1.9534), significant(10_900.4), significant(0.0003), significant(float("nan"))
    ('1.95', '10,900', '0.0003', '–')
    """
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    value = float(f"{value:.{digits - 1}e}")  # rounded first: 9.999 to three digits is 10.0, not 10.00
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    if decimals <= 0:
        return f"{value:,.0f}"
    return f"{value:.{decimals}f}" if abs(value) >= 0.1 else f"{value:.{digits}g}"


def _scaled(value: int | float, units: tuple[tuple[float, float, str], ...]) -> str:
    if not math.isfinite(value):
        return "–"
    for least, scale, name in units:
        if abs(value) >= 0.9995 * least:  # 999,600 to three digits is 1.00 M, not 1000 k
            return significant(value / scale) + name
    return f"{value:,.0f}"
