"""The alphabet in which GPT-2 writes bytes as text: one visible character for each of the 256 bytes.

Vocabulary files are JSON and lines of text, and a token is any run of bytes, half a character included.
So GPT-2 gives each byte a character that prints: bytes that are printable in Latin-1 stand for
themselves, the other 68, in order, become U+0100 and up. A space is "Ġ", a newline "Ċ".
Source: Radford et al., Language Models are Unsupervised Multitask Learners (2019), released code.
"""

import codecs

from groundup.errors import TokenizerError


def byte_alphabet() -> list[str]:
    """The character of each byte 0 .. 255.

    >>> "".join(byte_alphabet()[byte] for byte in " a\\n".encode())
    'ĠaĊ'
    """
    characters = [chr(byte) for byte in range(256)]
    hidden = [byte for byte in range(256) if not characters[byte].isprintable() or characters[byte] == " "]
    for place, byte in enumerate(hidden):
        characters[byte] = chr(256 + place)
    return characters


_TO_CHARACTERS = dict(enumerate(byte_alphabet()))
_TO_BYTES = {ord(char): byte for byte, char in _TO_CHARACTERS.items()}


def to_characters(token: bytes) -> str:
    """The token in the byte alphabet.

    >>> to_characters(b" caf\\xc3")
    'ĠcafÃ'
    """
    return token.decode("latin-1").translate(_TO_CHARACTERS)


def to_bytes(characters: str) -> bytes:
    """The token that `characters` write. Raises TokenizerError for a character outside the alphabet."""
    try:
        return codecs.charmap_encode(characters, "strict", _TO_BYTES)[0]
    except UnicodeEncodeError as error:
        raise TokenizerError(
            f"the token {characters!r} holds {characters[error.start]!r}, which stands for no byte in the "
            "alphabet of byte-level BPE"
        ) from error


def is_byte_name(name: str) -> bool:
    """Whether `name` is the character of a byte that is not its UTF-8: "é", of byte 0xE9."""
    return len(name) == 1 and not name.isascii() and ord(name) in _TO_BYTES
