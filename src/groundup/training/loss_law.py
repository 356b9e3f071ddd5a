"""What loss a run will reach, from the size of the model, the text it sees and how regular that text is.

    bits per byte = packed (A / N^p + B / D)^q

N counts the parameters of the layers in millions, D the bytes that are trained on in MB, `packed` the bits per byte
that bzip2 needs. The form is that of Kaplan et al. 2020, Scaling Laws for Neural Language Models (arXiv:2001.08361),
equation 1.5, with bytes for tokens, so that vocabularies can be compared. The sum of Hoffmann et al. 2022
(arXiv:2203.15556) was tried and is 13 % off here: in runs of minutes the size of a model counts little while the text
is short, which no sum of the two can say. Bytes seen again count less and less: Muennighoff et al. 2023, Scaling
Data-Constrained Language Models (arXiv:2305.16264), equation 5. The constants come from a dozen short runs
(docs/planner.md); far from these the law is a guess.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class LossLaw:
    """The constants; `repeats` is how many repetitions of a text are worth anything (R*_D of the paper)."""

    of_size: float
    size_power: float
    of_data: float
    power: float
    repeats: float = 15.4
    band: float = 0.10  # predictions are right within this share, at runs like those it was fitted to

    def bits_per_byte(self, packed: float, *, parameters: int, trained_bytes: float, unique_bytes: float) -> float:
        """The loss that a run on `trained_bytes`, `unique_bytes` of them different, should reach."""
        data = self.effective_bytes(trained_bytes, unique_bytes)
        short_of_size = self.of_size / (parameters / 1e6) ** self.size_power
        short_of_data = self.of_data / (data / 1e6)
        return packed * (short_of_size + short_of_data) ** self.power

    def effective_bytes(self, trained_bytes: float, unique_bytes: float) -> float:
        """As many new bytes as the trained ones are worth: U + U R (1 - exp(-(epochs - 1) / R))."""
        if trained_bytes <= unique_bytes:
            return trained_bytes
        more = trained_bytes / unique_bytes - 1
        return unique_bytes * (1 + self.repeats * (1 - math.exp(-more / self.repeats)))


FITTED = LossLaw(of_size=0.202, size_power=0.784, of_data=0.947, power=0.249)
