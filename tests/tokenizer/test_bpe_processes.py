"""The tokenizer among threads and processes: forks, imports, memory. Fresh interpreters do most of this."""

import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

END = "<|endoftext|>"


def test_threads_share_one(tokenizer, text):
    generator = random.Random(0)
    batch = ["".join(generator.choices(text, k=200)) + END for _ in range(20)]
    alone = [tokenizer.encode(text) for text in batch]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(tokenizer.encode, batch)) == alone
        assert list(pool.map(lambda text: list(tokenizer.encode_iterable(text)), batch)) == alone


def run(program: str, *arguments: object) -> str:
    """What a fresh interpreter prints: no type checks, no modules of the tests."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_forked_child_encodes_while_threads_of_the_parent_do(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    program = """if True:
        import os, sys, threading
        from groundup.tokenizer.bpe import Tokenizer
        tokenizer = Tokenizer.load(sys.argv[1])
        text = "The cat ate the naive hat. " * 300
        expected, stop = tokenizer.encode(text), threading.Event()
        def work():
            while not stop.is_set():
                tokenizer.encode_batch([text] * 20)
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads: thread.start()
        for _ in range(4):
            child = os.fork()
            if child == 0:
                same = tokenizer.encode(text) == expected == tokenizer.encode_batch([text] * 20)[19]
                os._exit(0 if same else 1)
            assert os.waitpid(child, 0)[1] == 0
        stop.set()
        for thread in threads: thread.join()
        print("equal")
    """
    assert run(program, tmp_path) == "equal\n"


def test_imports_are_cheap(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    program = """if True:
        import sys
        from groundup.tokenizer.bpe import Tokenizer
        tokenizer = Tokenizer.load(sys.argv[1])
        ids = tokenizer.encode("the cat")
        assert tokenizer.decode(ids) == "the cat" and list(tokenizer.encode_iterable(["the cat"])) == ids
        print([name for name in ("numpy", "torch", "regex", "pyarrow") if name in sys.modules])
    """
    assert run(program, tmp_path) == "[]\n"


PEAK = """if True:
    import random, sys
    from pathlib import Path
    from groundup.tokenizer.bpe import Tokenizer
    tokenizer, megabytes = Tokenizer.load(sys.argv[1]), int(sys.argv[2])
    generator = random.Random(0)
    words = [bytes(generator.choices(b"abcdefghij", k=generator.randint(2, 9))).decode() for _ in range(5000)]
    page = " ".join(generator.choices(words, k=20_000)) + "<|endoftext|>"
    count = sum(1 for _ in tokenizer.encode_iterable(page for _ in range(megabytes * 1_000_000 // len(page))))
    # VmHWM, not getrusage's ru_maxrss: that begins with what the parent used before it started us.
    lines = Path("/proc/self/status").read_text().splitlines()
    print(count, next(line.split()[1] for line in lines if line.startswith("VmHWM")))
"""


def peak_kilobytes(folder, megabytes: int) -> int:
    count, peak = map(int, run(PEAK, folder, megabytes).split())
    assert count > megabytes * 200_000
    return peak


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(("small", "large"), [(1, 4), pytest.param(5, 50, marks=pytest.mark.slow)])
def test_memory_of_encode_iterable_does_not_grow_with_the_text(tokenizer, tmp_path, small, large):
    tokenizer.save(tmp_path)
    assert abs(peak_kilobytes(tmp_path, large) - peak_kilobytes(tmp_path, small)) < 2000
