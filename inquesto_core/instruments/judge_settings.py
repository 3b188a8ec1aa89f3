"""What the protocol pins of the judge beside its file: everything else that can move an answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
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
        0: everything on the processor.
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


def judge_settings(pin: JudgePin) -> JudgeSettings:
    """Return the pin's parameters as settings."""
    return JudgeSettings(**pin.parameters)  # type: ignore[arg-type]
