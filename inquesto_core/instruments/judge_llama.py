"""The judge's model through llama.cpp: the only module that imports ``llama_cpp``, and late.

One sequence is kept. What an earlier prompt shares with the next, whole segments from the start on,
stays in the cache; what came after is dropped. Every segment is always evaluated in decodes of its
own, so that a fresh, a restored and a reordered run do the same arithmetic, bit for bit. There is
no chance: the verdict is the likelier of two words, the rest the likeliest that the grammar allows.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from inquesto_core.errors import InstrumentError, Problem
from inquesto_core.instruments.judge_prompt import ChatFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inquesto_core.instruments.judge_prompt import Tokens
    from inquesto_core.instruments.judge_settings import JudgeSettings

__all__ = ["CPU", "LlamaJudge", "RawAnswer", "judge_device"]

#: Device class of a judge that no GPU takes part in.
CPU = "cpu"
#: ggml's types of a device that layers are given to.
_GPU_TYPES = frozenset({1, 2})

#: Spelling of the begin and end of a turn, and the roles; the first that a vocabulary has counts.
_FORMATS = (
    ("<start_of_turn>", "<end_of_turn>", "user", "model"),
    ("<|im_start|>", "<|im_end|>", "user", "assistant"),
)
_FLASH_ATTENTION_OFF = 0
_TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
_WORDS = ("true", "false")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawAnswer:
    """What the model wrote behind the opening, and how sure it was of the verdict.

    Parameters
    ----------
    text : str
        Cut off where the token limit was reached.
    p_true, p_false : float
        Probability of each word at the verdict token, over the whole vocabulary.
    """

    text: str
    p_true: float
    p_false: float


@functools.cache
def _load_library() -> tuple[Any, Any]:
    """Return llama.cpp, and the callback that takes its log.

    The library keeps the callback's address for good, so it must outlive every model.
    """
    try:
        from llama_cpp import llama_cpp as native
    except ImportError as exc:
        raise InstrumentError(
            Problem(
                code="extra_missing",
                found="llama-cpp-python is not installed",
                expected="the extra `judge`",
                remedy="pip install 'inquesto-core[judge]'",
            )
        ) from exc
    silent = native.llama_log_callback(lambda _level, _text, _data: None)
    native.llama_log_set(silent, ctypes.c_void_p(0))
    native.llama_backend_init()
    return native, silent


def _gpu_classes(native: Any) -> tuple[str, ...]:
    """Return what the GPUs that the library finds are reached through (``cuda``, ``metal``)."""
    ggml = native._lib  # llama_cpp binds no function of ggml's devices itself
    for name, result in (
        ("ggml_backend_dev_get", ctypes.c_void_p),
        ("ggml_backend_dev_backend_reg", ctypes.c_void_p),
        ("ggml_backend_reg_name", ctypes.c_char_p),
        ("ggml_backend_dev_count", ctypes.c_size_t),
        ("ggml_backend_dev_type", ctypes.c_int),
    ):
        getattr(ggml, name).restype = result
    devices = [
        ctypes.c_void_p(ggml.ggml_backend_dev_get(ctypes.c_size_t(at)))
        for at in range(ggml.ggml_backend_dev_count())
    ]
    found = {
        ggml.ggml_backend_reg_name(ctypes.c_void_p(ggml.ggml_backend_dev_backend_reg(device)))
        for device in devices
        if ggml.ggml_backend_dev_type(device) in _GPU_TYPES
    }
    names = {name.decode("utf-8", errors="replace").lower() for name in found}
    return tuple(sorted("metal" if name == "mtl" else name for name in names))


def judge_device(gpu_layers: int) -> str:
    """Return the class of what evaluates a model: ``cpu``, or that of the GPUs (``cuda``).

    Parameters
    ----------
    gpu_layers : int
        How many of the model's layers are asked to lie on a GPU.

    Raises
    ------
    InstrumentError
        ``extra_missing``; ``gpu_missing`` where layers are asked for and no GPU is found.
    """
    if gpu_layers == 0:
        return CPU
    native, _ = _load_library()
    classes = _gpu_classes(native) if native.llama_supports_gpu_offload() else ()
    if not classes:
        raise InstrumentError(
            Problem(
                code="gpu_missing",
                found=f"--gpu-layers {gpu_layers} asks for a GPU, and this build of "
                "llama-cpp-python finds none",
                expected="a build for the GPU of this machine (docs/judge.md)",
                remedy="install such a build, or leave --gpu-layers out",
            )
        )
    return "+".join(classes)


class LlamaJudge:
    """A loaded GGUF model that answers prompts given as token segments.

    Parameters
    ----------
    path : Path
    settings : JudgeSettings
        What the protocol pins beside the file.
    threads : int, optional
        Changes no bit of an answer; default: the machine's cores.

    Raises
    ------
    InstrumentError
        ``extra_missing``, ``gpu_missing``, ``model_unreadable``, ``model_has_no_turns``.
    """

    def __init__(self, path: Path, *, settings: JudgeSettings, threads: int | None = None) -> None:
        native, _ = _load_library()
        self._native = native
        self._settings = settings
        self._name = path.name
        self.device = judge_device(settings.gpu_layers)
        self._model = self._load_model(path)
        self._vocab = native.llama_model_get_vocab(self._model)
        self._size = int(native.llama_vocab_n_tokens(self._vocab))
        self._context = self._make_context(threads or os.cpu_count() or 1)
        self._memory = native.llama_get_memory(self._context)
        self._batch = native.llama_batch_init(settings.batch_tokens, 0, 1)
        self._held: tuple[Tokens, ...] = ()
        self._at = 0
        self.evaluated_tokens = 0
        self.chat = self._chat_format()
        self._words = self._verdict_tokens()

    def _load_model(self, path: Path) -> Any:
        params = self._native.llama_model_default_params()
        params.n_gpu_layers = self._settings.gpu_layers
        # Without a list, a build for a GPU gives it large products although it holds no layer.
        no_devices = (ctypes.c_void_p * 1)(None)
        if self.device == CPU:
            params.devices = ctypes.cast(no_devices, ctypes.c_void_p)
        model = self._native.llama_model_load_from_file(os.fsencode(path), params)
        if not model:
            raise self._refused("cannot be loaded by llama.cpp", "a whole GGUF file it knows")
        return model

    def _make_context(self, threads: int) -> Any:
        native, settings = self._native, self._settings
        params = native.llama_context_default_params()
        params.n_ctx = self.context_tokens
        params.n_batch = params.n_ubatch = settings.batch_tokens
        params.n_seq_max = 1
        params.n_threads = params.n_threads_batch = threads
        params.flash_attn_type = _FLASH_ATTENTION_OFF
        params.swa_full = True  # a pruned cache could not be taken back to a segment's end
        params.offload_kqv = params.op_offload = self.device != CPU
        params.no_perf = True
        context = native.llama_init_from_model(self._model, params)
        if not context:
            raise self._refused(
                "leaves no room to run in", f"memory for {self.context_tokens} tokens"
            )
        return context

    def _refused(self, found: str, expected: str, code: str = "model_unreadable") -> Any:
        return InstrumentError(
            Problem(
                code=code,
                file=self._name,
                found=found,
                expected=expected,
                remedy="use another model file",
            )
        )

    @property
    def context_tokens(self) -> int:
        """The most tokens that a prompt and its answer may have."""
        trained = int(self._native.llama_model_n_ctx_train(self._model))
        return min(self._settings.context_tokens, trained)

    @property
    def build(self) -> str:
        """The library's version, the class of device, and what the library was built to use."""
        import llama_cpp

        features = self._native.llama_print_system_info().decode("utf-8", errors="replace")
        features = " ".join(features.split()).rstrip("| ")
        return f"llama-cpp-python {llama_cpp.__version__}; {self.device}; {features}"

    def close(self) -> None:
        """Give the memory back."""
        native = self._native
        native.llama_batch_free(self._batch)
        native.llama_free(self._context)
        native.llama_model_free(self._model)

    # -- vocabulary ----------------------------------------------------------------------------

    def _spelling(self, token: int) -> str:
        text = self._native.llama_vocab_get_text(self._vocab, token)
        return str((text or b"").decode("utf-8", errors="replace"))

    def _chat_format(self) -> ChatFormat:
        native, vocab = self._native, self._vocab
        is_control, is_end = native.llama_vocab_is_control, native.llama_vocab_is_eog
        spellings = {token: self._spelling(token) for token in range(self._size)}
        control = {
            token: spelling
            for token, spelling in spellings.items()
            if is_control(vocab, token) or is_end(vocab, token)
        }
        ids = {spelling: token for token, spelling in reversed(spellings.items())}
        for start, end, user, model in _FORMATS:
            if start in ids and end in ids:
                turns = {ids[start]: start, ids[end]: end}
                begin = int(native.llama_vocab_bos(vocab))
                has_begin = bool(native.llama_vocab_get_add_bos(vocab)) and begin >= 0
                return ChatFormat(
                    bos=(begin,) if has_begin else (),
                    turn_start=ids[start],
                    turn_end=ids[end],
                    user=user,
                    model=model,
                    control={**control, **turns},
                )
        raise self._refused(
            "has no tokens that begin and end a turn",
            "a chat model with " + " or ".join(row[0] for row in _FORMATS),
            code="model_has_no_turns",
        )

    def tokenise(self, text: str) -> Tokens:
        """Return a text's token ids, special tokens off and nothing added; half a pair is ``?``."""
        data = text.encode("utf-8", errors="replace")
        room = len(data) + 8
        out = (ctypes.c_int32 * room)()
        count = self._native.llama_tokenize(self._vocab, data, len(data), out, room, False, False)
        if count < 0:
            raise self._refused(
                f"gives {-count} tokens for {len(data)} bytes", "one a byte at most"
            )
        return tuple(out[:count])

    def _piece(self, token: int) -> bytes:
        room = 256
        out = ctypes.create_string_buffer(room)
        count = self._native.llama_token_to_piece(self._vocab, token, out, room, 0, False)
        return out.raw[: max(count, 0)]

    def _verdict_tokens(self) -> tuple[int, int]:
        yes, no = (self.tokenise(word)[0] for word in _WORDS)
        if yes == no:
            raise self._refused("begins true and false alike", "a vocabulary that tells them apart")
        return yes, no

    # -- evaluation ----------------------------------------------------------------------------

    def _decode(self, tokens: Sequence[int]) -> None:
        """Evaluate tokens behind those held; the logits of the last one stay readable."""
        batch, size = self._batch, self._settings.batch_tokens
        for low in range(0, len(tokens), size):
            part = tokens[low : low + size]
            batch.n_tokens = len(part)
            for at, token in enumerate(part):
                batch.token[at] = token
                batch.pos[at] = self._at + at
                batch.n_seq_id[at] = 1
                batch.seq_id[at][0] = 0
                batch.logits[at] = at == len(part) - 1
            if self._native.llama_decode(self._context, batch) != 0:
                self._drop_all()
                raise self._refused("failed to evaluate a prompt", "a working model")
            self._at += len(part)
            self.evaluated_tokens += len(part)

    def _drop_all(self) -> None:
        self._native.llama_memory_clear(self._memory, False)
        self._held, self._at = (), 0

    def _keep(self, count: int) -> None:
        """Take the cache back to the end of its first `count` segments."""
        end = sum(map(len, self._held[:count]))
        kept = self._held[:count]
        if count and self._native.llama_memory_seq_rm(self._memory, 0, end, -1):
            self._held, self._at = kept, end
        else:  # nothing to keep, or a model whose state cannot be taken back
            self._drop_all()

    def _advance(self, segments: Sequence[Tokens]) -> None:
        """Bring the cache to the end of `segments`, the last of them evaluated anew."""
        shared = 0
        for ours, theirs in zip(self._held, segments[:-1], strict=False):
            if ours != theirs:
                break
            shared += 1
        self._keep(shared)
        for segment in segments[len(self._held) :]:
            self._decode(segment)
            self._held = (*self._held, segment)

    def _logits(self) -> NDArray[np.float32]:
        pointer = self._native.llama_get_logits_ith(self._context, -1)
        return np.ctypeslib.as_array(pointer, shape=(self._size,)).copy()

    def ask(self, segments: Sequence[Tokens], *, grammar: str, max_tokens: int) -> RawAnswer:
        """Return the model's answer behind the last segment.

        Parameters
        ----------
        segments : sequence of token tuples
            Together no longer than `context_tokens` less `max_tokens`.
        grammar : str
            GBNF of what may follow; its root ends the answer.
        max_tokens : int
            More than the longest legal answer has.
        """
        self._advance(segments)
        with self._bound(grammar) as sampler:
            logits = self._logits()
            likely = logits.astype(np.float64) - float(logits.max())
            weights = np.exp(likely)
            p_true, p_false = (float(weights[word] / weights.sum()) for word in self._words)
            token = self._words[0] if p_true > p_false else self._words[1]
            written = b""
            for _ in range(max_tokens):
                self._native.llama_sampler_accept(sampler, token)
                written += self._piece(token)
                # A reason may begin with a brace, so only an even quote closes the answer.
                if written.endswith(b'"}') and written.count(b'"') % 2 == 0:
                    break
                self._decode((token,))
                token = self._likeliest(sampler)
        text = written.decode("utf-8", errors="replace")
        return RawAnswer(text=text, p_true=p_true, p_false=p_false)

    @contextlib.contextmanager
    def _bound(self, grammar: str) -> Any:
        native = self._native
        sampler = native.llama_sampler_init_grammar(self._vocab, grammar.encode(), b"root")
        if not sampler:
            raise self._refused("does not take the answer's grammar", "llama.cpp's GBNF")
        try:
            yield sampler
        finally:
            native.llama_sampler_free(sampler)

    def _likeliest(self, sampler: Any) -> int:
        """Return the likeliest token that the grammar allows; of equals the one of lower id."""
        logits = self._logits()
        best = int(np.argmax(logits))
        if np.isfinite(self._allowed(sampler, np.array([best]), logits)[0]):
            return best
        return int(np.argmax(self._allowed(sampler, np.arange(self._size), logits)))

    def _allowed(
        self, sampler: Any, tokens: NDArray[np.int64], logits: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return the tokens' logits, minus infinity where the grammar forbids them."""
        native = self._native
        data = np.zeros(len(tokens), dtype=_TOKEN_DATA)
        data["id"], data["logit"] = tokens, logits[tokens]
        pointer = data.ctypes.data_as(ctypes.POINTER(native.llama_token_data))
        table = native.llama_token_data_array(
            data=pointer, size=len(tokens), selected=-1, sorted=False
        )
        native.llama_sampler_apply(sampler, ctypes.byref(table))
        return data["logit"]
