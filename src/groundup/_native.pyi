"""The C++ core as Python sees it (native/bindings*.cpp): counting, training, encoding, decoding.

Text is `str` or UTF-8 `bytes`. Bad input raises ValueError (`groundup.tokenizer` turns it into
TokenizerError), a file that cannot be read OSError, too little memory MemoryError. `num_threads` 0 means
all processors this process may use; no result depends on it. Long calls let go of the GIL.
"""

import os
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

UNICODE_TABLES_VERSION: str

def default_num_threads() -> int: ...

# pattern: "gpt2", "smollm", "cl100k", "llama3", "qwen2" or "o200k", as groundup.tokenizer.patterns.scanner_name says.
def pre_tokenize(text: str | bytes, pattern: str = "gpt2") -> list[bytes]: ...

# Whether a pre-token ends between these two code points, whatever else is in the text.
def is_boundary(before: int, after: int, pattern: str = "gpt2") -> bool: ...

# Where UTF-8 may be cut into pieces of num_chars characters or a little more: before white space, where words part.
def piece_cuts(text: bytes, num_chars: int, pattern: str = "gpt2") -> list[int]: ...

# The byte offset at which no valid character begins; None: all is UTF-8.
def find_invalid_utf8(text: bytes) -> int | None: ...

# "letter", "number", "space" or "other"; finer: letters are "upper", "lower" or "uncased", of others some a "mark".
def unicode_class(code_point: int) -> str: ...
def unicode_kind(code_point: int) -> str: ...

# The byte offsets at which pre-tokens begin, found 64 bytes at a time; pre_tokenize goes character by character.
def word_starts(text: str | bytes, pattern: str = "gpt2") -> list[int]: ...

# The names of the instruction sets that this processor can run, the best, which is used, first.
def instruction_sets() -> list[str]: ...
def use_instruction_set(name: str) -> None: ...

class WordCounter:
    """Counts the distinct pre-tokens of texts and files and learns merges from them."""

    def __init__(self, special_tokens: Sequence[bytes], *, pattern: str = "gpt2") -> None: ...
    # chunk_bytes (0: the default) never changes a result; it is there for tests.
    def add_text(self, text: bytes, num_threads: int = 0, *, chunk_bytes: int = 0) -> None: ...
    # progress gets the bytes done so far, in the calling thread; what it raises stops the work.
    def add_file(
        self,
        path: str | bytes | os.PathLike[str],
        num_threads: int = 0,
        progress: Callable[[int], None] | None = None,
        *,
        chunk_bytes: int = 0,
    ) -> None: ...
    def add_words(self, words: Sequence[bytes], counts: Sequence[int]) -> None: ...
    @property
    def num_words(self) -> int: ...  # distinct
    @property
    def num_bytes(self) -> int: ...  # of all words, each as often as it was counted
    def words(self) -> list[tuple[bytes, int]]: ...  # most frequent first, then by bytes
    # All merges: known_merges, which are done first and count among the num_merges, and the learned ones.
    # progress gets the number of merges so far. max_token_bytes None: tokens of any length.
    def train(
        self,
        num_merges: int,
        progress: Callable[[int], None] | None = None,
        *,
        known_merges: Sequence[tuple[bytes, bytes]] = (),
        min_frequency: int = 1,
        max_token_bytes: int | None = None,
    ) -> list[tuple[bytes, bytes]]: ...

class Encoder:
    """A vocabulary with its merges: text to ids and back. May be used from several threads at once."""

    # cache_bytes bounds the memory of each thread for words met before.
    # ignore_merges: a pre-token that is a token as a whole is that token, whatever the merges make of it.
    def __init__(
        self,
        tokens: Sequence[tuple[bytes, int]],
        merges: Sequence[tuple[bytes, bytes]],
        special_tokens: Sequence[tuple[bytes, int]],
        cache_bytes: int = 67108864,
        *,
        ignore_merges: bool = False,
        pattern: str = "gpt2",
    ) -> None: ...
    # What it was made of. Tokens in the order of their ids, the special ones among them.
    def tokens(self) -> dict[int, bytes]: ...
    def special_tokens(self) -> dict[str, int]: ...
    def merges(self) -> list[tuple[bytes, bytes]]: ...
    @property
    def ignore_merges(self) -> bool: ...
    @property
    def num_tokens(self) -> int: ...
    @property
    def end_id(self) -> int: ...  # one more than the largest id
    # special: special tokens become their ids; False: their spelling is ordinary text.
    def encode(self, text: str | bytes, special: bool, num_threads: int = 1) -> list[int]: ...
    def encode_array(self, text: str | bytes, special: bool, num_threads: int = 1) -> npt.NDArray[np.uint32]: ...
    # Of ids that all fit into 16 bits.
    def encode_array_16(self, text: str | bytes, special: bool, num_threads: int = 1) -> npt.NDArray[np.uint16]: ...
    # How many ids encode would give; they are not kept.
    def count_tokens(self, text: str | bytes, special: bool, num_threads: int = 1) -> int: ...
    # Begin and end of each id in the text: in bytes, or in characters, of which one may belong to several ids.
    def spans(self, text: str | bytes, ids: list[int], in_characters: bool) -> list[tuple[int, int]]: ...
    def encode_batch(
        self, texts: list[str] | list[bytes] | list[str | bytes], special: bool, num_threads: int = 0
    ) -> list[list[int]]: ...
    # The ids of all texts in one array, and how many of them come before the end of each text. Where `marks`, a byte
    # for each text, is not 0, end_id follows the text.
    def encode_joined(
        self,
        texts: list[str] | list[bytes] | list[str | bytes],
        special: bool,
        num_threads: int = 0,
        *,
        marks: bytes = b"",
        end_id: int = 0,
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64]]: ...
    # Of ids that all fit into 16 bits.
    def encode_joined_16(
        self,
        texts: list[str] | list[bytes] | list[str | bytes],
        special: bool,
        num_threads: int = 0,
        *,
        marks: bytes = b"",
        end_id: int = 0,
    ) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint64]]: ...
    # Each word is one pre-token, of any bytes.
    def encode_words(self, words: Sequence[bytes]) -> list[int]: ...
    # Byte offset and id of the first special token.
    def find_special(self, text: str | bytes) -> tuple[int, int] | None: ...
    def stream(self, special: bool) -> Stream: ...
    def decode_bytes(
        self, ids: Sequence[int] | npt.NDArray[np.uint16] | npt.NDArray[np.uint32] | npt.NDArray[np.int64]
    ) -> bytes: ...

class FileIds:
    """The ids of a UTF-8 text file, those of some megabytes of it at a time; None at its end."""

    def __init__(
        self, encoder: Encoder, path: str | bytes | os.PathLike[str], special: bool, num_threads: int = 0
    ) -> None: ...
    def next(self) -> npt.NDArray[np.uint32] | None: ...
    # Of ids that all fit into 16 bits.
    def next_16(self) -> npt.NDArray[np.uint16] | None: ...

class Stream:
    """Encodes a text that arrives in pieces; all ids together are those of the whole text."""

    def push(self, text: str) -> list[int]: ...
    def finish(self) -> list[int]: ...

# What the core is built from, in hexadecimal.
CORE_VERSION: str

# The content of a file out of which an encoder can be had back, with the notes; good for the same source, and by a core
# of the same version. The source is what the encoder was made of.
def store_encoder(encoder: Encoder, source: bytes, notes: Sequence[bytes]) -> bytes: ...

# From two open files, by their descriptors; None if the first is not whole, or of another source than the second holds,
# or of another core. Only a file of our own may be given: it is not looked into for what a forger could put there.
def read_stored_encoder(file: int, source: int, cache_bytes: int = 67108864) -> tuple[Encoder, list[bytes]] | None: ...

# 64 bits that tell bytes from others, but not if somebody makes them alike. None: the file cannot be read.
def checksum(bytes: bytes) -> int: ...
def checksum_of_file(file: int) -> int | None: ...

# The kernels (native/kernels/kernels.hpp). Arrays are addresses of dense rows, 0 where none is given: what lies there
# must be large enough, and only groundup.kernels calls these. `bf16`: values are bf16 instead of float32.

# The names of the variants that this processor can run, the best, which is used, first.
def kernel_variants() -> list[str]: ...
def use_kernel_variant(name: str) -> None: ...

# Whether kernels run on torch's OpenMP threads; without them, on threads that each call starts.
def has_openmp_threads() -> bool: ...
def exp_each(x: int, y: int, size: int) -> None: ...
def to_bf16(x: int, y: int, size: int, num_threads: int) -> None: ...
def to_float(x: int, y: int, size: int, num_threads: int) -> None: ...
def add_rms_norm(
    x: int,
    y: int,
    weight: int,
    sum: int,
    normed: int,
    inverse_rms: int,
    *,
    rows: int,
    columns: int,
    eps: float,
    bf16: bool,
    num_threads: int,
) -> None: ...
def add_rms_norm_backward(
    normed_gradient: int,
    x: int,
    inverse_rms: int,
    weight: int,
    residual_gradient: int,
    x_gradient: int,
    x_gradient_copy: int,
    weight_gradient: int,
    *,
    rows: int,
    columns: int,
    bf16: bool,
    num_threads: int,
) -> None: ...
def swiglu(
    gate: int, up: int, out: int, *, stride: int, rows: int, columns: int, bf16: bool, num_threads: int
) -> None: ...
def swiglu_backward(
    gate: int,
    up: int,
    out_gradient: int,
    gate_gradient: int,
    up_gradient: int,
    *,
    stride: int,
    gradient_stride: int,
    rows: int,
    columns: int,
    bf16: bool,
    num_threads: int,
) -> None: ...

# Those that take ids raise IndexError for one that is out of range, before anything is written.
def cross_entropy(
    logits: int,
    targets: int,
    losses: int,
    log_sums: int,
    gradient: int,
    *,
    rows: int,
    columns: int,
    scale: float,
    bf16: bool,
    num_threads: int,
) -> None: ...
def cross_entropy_backward(
    logits: int,
    targets: int,
    log_sums: int,
    gradient: int,
    *,
    rows: int,
    columns: int,
    scale: float,
    bf16: bool,
    num_threads: int,
) -> None: ...
def embedding(
    weight: int, ids: int, out: int, *, rows: int, columns: int, vocab_size: int, bf16: bool, num_threads: int
) -> None: ...
def embedding_backward(
    out_gradient: int,
    ids: int,
    weight_gradient: int,
    *,
    rows: int,
    columns: int,
    vocab_size: int,
    accumulate: bool,
    bf16: bool,
    num_threads: int,
) -> None: ...

# tensors: addresses of parameter, m, v, gradient and bf16 copy; number of values; keep, rate and v_root.
def adamw(
    tensors: Sequence[tuple[int, int, int, int, int, int, float, float, float]],
    *,
    m_share: float,
    v_keep: float,
    v_share: float,
    eps: float,
    bf16: bool,
    num_threads: int,
) -> None: ...

# tensors: address and number of values of each.
def sum_of_squares(tensors: Sequence[tuple[int, int]], *, bf16: bool, num_threads: int) -> float: ...
def scale(tensors: Sequence[tuple[int, int]], factor: float, *, bf16: bool, num_threads: int) -> None: ...
def exp2_each(x: int, y: int, size: int) -> None: ...  # of the softmax: for x <= 0
def causal_attention(
    qkv: int,
    cos: int,
    sin: int,
    out: int,
    log2_sum: int,
    *,
    batch: int,
    seq: int,
    heads: int,
    kv_heads: int,
    d_head: int,
    bf16: bool,
    num_threads: int,
) -> None: ...
def causal_attention_backward(
    qkv: int,
    cos: int,
    sin: int,
    out: int,
    log2_sum: int,
    out_gradient: int,
    qkv_gradient: int,
    *,
    batch: int,
    seq: int,
    heads: int,
    kv_heads: int,
    d_head: int,
    bf16: bool,
    num_threads: int,
) -> None: ...

# Values and scales (0: none) of a packed matrix.
_Matrix = tuple[int, int]

# Weights of a model in panels (native/kernels/decode.hpp); each layer: norm, qkv, output, norm, gate and up, down. What
# the addresses name is the caller's to keep.
class Decoder:
    def __init__(
        self,
        layers: Sequence[tuple[int, _Matrix, _Matrix, int, _Matrix, _Matrix]],
        embedding: int,
        final_norm: int,
        head: _Matrix,
        cos: int,
        sin: int,
        *,
        weights: str,
        d_model: int,
        heads: int,
        kv_heads: int,
        d_ff: int,
        vocab_size: int,
        context_length: int,
        norm_eps: float,
    ) -> None: ...

    # rows: addresses of ids, uniform numbers and log-probabilities; num_ids, start, cached and steps of DecodedRow.
    # Returns the latter four of each afterwards, and whether all logits were finite. Steps are left where the passes
    # did not reach.
    def decode(
        self,
        rows: Sequence[tuple[int, int, int, int, int, int, int]],
        cache: int,
        *,
        max_length: int,
        max_passes: int,
        end_id: int,
        forbidden: int,
        num_forbidden: int,
        greedy: bool,
        temperature: float,
        top_k: int,
        top_p: float,
        top_p_tolerance: float,
        repetition_penalty: float,
        num_threads: int,
    ) -> tuple[list[tuple[int, int, int, int]], bool]: ...

    # The logits (length, vocab_size) after each of `length` ids; `cache` is that of a row of so many positions.
    def logits(self, ids: int, cache: int, logits: int, *, length: int, num_threads: int) -> None: ...

# Values in the cache of one row.
def decoder_cache_size(*, num_layers: int, kv_heads: int, d_head: int, max_length: int) -> int: ...
