"""What the protocol pins of the judge beside its file: everything else that can move an answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inquesto_core.protocol.definition import JudgePin

__all__ = ["JudgeSettings", "judge_settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """The judge's parameters.

    Parameters
    ----------
    library, library_version : str
        The pinned build; another is used only if the result says so.
    context_tokens, batch_tokens : int
        Room for a prompt with its answer; tokens of one decode.
    gpu_layers : int
        How many of the model's layers a GPU evaluates; 0: none, everything on the processor.
    max_reason_characters, max_answer_tokens : int
        Inclusive.
    fragile_margin : float
        A verdict whose two probabilities differ by less, as a share of their sum, is fragile.
    """

    library: str
    library_version: str
    context_tokens: int
    batch_tokens: int
    gpu_layers: int
    max_reason_characters: int
    max_answer_tokens: int
    fragile_margin: float

    def values(self) -> dict[str, Any]:
        """Return the settings by name."""
        return asdict(self)


def judge_settings(pin: JudgePin, *, gpu_layers: int | None = None) -> JudgeSettings:
    """Return the pin's parameters as settings, with another number of layers on a GPU if given."""
    settings = JudgeSettings(**pin.parameters)  # type: ignore[arg-type]
    return settings if gpu_layers is None else replace(settings, gpu_layers=gpu_layers)
