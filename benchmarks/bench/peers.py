"""Who is measured: a peer is a worker script and the environment that it runs in.

Ours runs in the project's environment. Every other one gets a virtual environment of its own, made the first
time it is asked for and again when its pinned requirements change, so that no peer's dependencies decide
another's.
"""

import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from bench.worker import WorkerError

ROOT = Path(__file__).resolve().parent.parent
VENVS = ROOT / ".venvs"


@dataclass(frozen=True)
class Peer:
    """A side of a comparison.

    Args:
        name: Of its environment, and of its side in tables.
        worker: Script in workers/ that answers for it.
        requirements: File in requirements/ with what it needs; None means the project's own environment.
    """

    name: str
    worker: str
    requirements: str | None = None

    @property
    def script(self) -> Path:
        return ROOT / "workers" / self.worker


def interpreter(peer: Peer, folder: Path = VENVS) -> Path:
    """The Python that runs the peer's worker; makes its environment under `folder` where there is none.

    Raises WorkerError if its packages cannot be installed.
    """
    if peer.requirements is None:
        return Path(sys.executable)
    wanted = (ROOT / "requirements" / peer.requirements).read_text(encoding="utf-8")
    environment = folder / peer.name
    python, stamp = environment / "bin" / "python", environment / "requirements.installed"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    print(f"making the environment of {peer.name} in {environment} (once)", file=sys.stderr, flush=True)
    shutil.rmtree(environment, ignore_errors=True)
    venv.create(environment, with_pip=True)
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    try:
        subprocess.run([*pip, "-r", str(ROOT / "requirements" / peer.requirements)], check=True)
    except subprocess.CalledProcessError as error:
        raise WorkerError(f"the environment of {peer.name} could not be made: {error}") from error
    stamp.write_text(wanted, encoding="utf-8")  # last, so that a broken installation is made anew
    return python
