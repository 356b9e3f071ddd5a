"""Which experiments there are: the name typed after `groundup experiment`, and the module that holds the study."""

import difflib
import importlib

from groundup.errors import ConfigError
from groundup.experiments.study import Study

# In the order in which they are best read, and run: the rate first, which all others take from the base.
STUDIES = {
    "sgd-rates": "sgd_rates",
    "learning-rate": "learning_rate",
    "batch-size": "batch_size",
    "norm": "norm",
    "post-norm": "post_norm",
    "positions": "positions",
    "gating": "gating",
    "main-text": "main_text",
    "generate": "generate",
    "leaderboard": "leaderboard",
}
# What `all` means; the leaderboard takes as long as many of these together, and is asked for by its name.
IN_TURN = tuple(name for name in STUDIES if name != "leaderboard")


def find_study(name: str) -> Study:
    """The study of this name. Raises ConfigError for another, with the nearest that exists."""
    if name not in STUDIES:
        close = difflib.get_close_matches(name, STUDIES, n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(STUDIES)}"
        raise ConfigError(f"there is no experiment {name!r}; {hint}")
    return importlib.import_module(f"groundup.experiments.{STUDIES[name]}").STUDY
