"""A Gemma 2 of two layers and random weights, soft-capping and sliding window included.

Its norms weigh what attention brings about as much as the last token itself, so that its verdicts
depend on the transcript and fall both ways.
"""

from __future__ import annotations

import numpy as np

WIDTH, HEADS, KV_HEADS, HEAD, HIDDEN, LAYERS, WINDOW = 64, 2, 1, 16, 64, 2, 64
CONTEXT = 8192
CONTROL = {0: "<pad>", 1: "<eos>", 2: "<bos>", 4: "<start_of_turn>", 5: "<end_of_turn>"}
_SPOKEN = """
the of a to is it and or in not no yes that this what who by for with on only one after
before was did does says said asks told gave caller agent account record call question
True: False: Example turn transcript answer words detail form machine telephone refund
charge card number please hello later never done still because evidence holder person
"""
#: Longer pieces; every byte has a token of its own beside them.
WORDS = [
    *("true", "false", "null", '"turn":', '"reason":"', '"}', "ed", "ing"),
    *("▁" + word for word in _SPOKEN.split()),
]


def _vocabulary(gguf):
    kinds = gguf.TokenType
    rows = [
        (CONTROL[at], 0.0, kinds.CONTROL) if at in CONTROL else ("<unk>", 0.0, kinds.UNKNOWN)
        for at in range(6)
    ]
    rows += [(f"<0x{byte:02X}>", 0.0, kinds.BYTE) for byte in range(256)]
    letters = [chr(code) for code in range(33, 127)] + ["▁"]
    # A merge is found only where its halves are pieces too.
    pieces = list(dict.fromkeys(word[:end] for word in WORDS for end in range(2, len(word) + 1)))
    rows += [(piece, -float(at), kinds.NORMAL) for at, piece in enumerate([*letters, *pieces])]
    return rows


def write_tiny_gemma2(path, gguf, *, seed=7, spoken_control=False):
    """Write the model; with `spoken_control` its turn marks are ordinary pieces of text."""
    draw = np.random.default_rng(seed)
    rows = _vocabulary(gguf)
    if spoken_control:
        rows = [
            (text, score, gguf.TokenType.USER_DEFINED if "_of_turn" in text else kind)
            for text, score, kind in rows
        ]
    out = gguf.GGUFWriter(path, "gemma2")
    out.add_context_length(CONTEXT)
    out.add_embedding_length(WIDTH)
    out.add_block_count(LAYERS)
    out.add_feed_forward_length(HIDDEN)
    out.add_head_count(HEADS)
    out.add_head_count_kv(KV_HEADS)
    out.add_key_length(HEAD)
    out.add_value_length(HEAD)
    out.add_layer_norm_rms_eps(1e-6)
    out.add_attn_logit_softcapping(50.0)
    out.add_final_logit_softcapping(30.0)
    out.add_sliding_window(WINDOW)
    out.add_tokenizer_model("llama")
    out.add_tokenizer_pre("default")
    out.add_token_list([text for text, _, _ in rows])
    out.add_token_scores([score for _, score, _ in rows])
    out.add_token_types([int(kind) for _, _, kind in rows])
    out.add_bos_token_id(2)
    out.add_eos_token_id(1)
    out.add_unk_token_id(3)
    out.add_pad_token_id(0)
    out.add_add_bos_token(True)
    out.add_add_space_prefix(False)

    def tensor(name, *shape):
        weights = draw.standard_normal(shape, dtype=np.float32)
        out.add_tensor(name, 1 + 0.3 * weights if len(shape) == 1 else 0.3 * weights)

    tensor("token_embd.weight", len(rows), WIDTH)
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        for norm in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"):
            tensor(f"{block}{norm}.weight", WIDTH)
        tensor(f"{block}attn_q.weight", HEADS * HEAD, WIDTH)
        tensor(f"{block}attn_k.weight", KV_HEADS * HEAD, WIDTH)
        tensor(f"{block}attn_v.weight", KV_HEADS * HEAD, WIDTH)
        tensor(f"{block}attn_output.weight", WIDTH, HEADS * HEAD)
        tensor(f"{block}ffn_gate.weight", HIDDEN, WIDTH)
        tensor(f"{block}ffn_up.weight", HIDDEN, WIDTH)
        tensor(f"{block}ffn_down.weight", WIDTH, HIDDEN)
    tensor("output_norm.weight", WIDTH)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    return path
