"""The evidence tables: columns and dtypes, declared once.

Every table begins with ``call_id`` and is sorted by its key (``KEYS``). Times are int64
milliseconds from the start of the recording, intervals half-open. Null means *not known*.
"""

from __future__ import annotations

import polars as pl

__all__ = ["KEYS", "TABLES", "TIMING_CARRIED", "empty_table", "make_table", "sort_table"]

_TEXT = pl.String
_INT = pl.Int64
_BOOL = pl.Boolean
_REAL = pl.Float64
_TEXTS = pl.List(pl.String)

#: A warning: timing came with the bundle, as it was measured of a recording that is not there any
#: more.
TIMING_CARRIED = "timing_carried"

#: Column names and dtypes of one table.
Columns = dict[str, pl.DataType | type[pl.DataType]]

#: One row a call: what call.json says and what reading and measuring made of it.
CALLS: Columns = {
    "call_id": _TEXT,
    "population": _TEXT,
    "scenario_id": _TEXT,
    "condition": _TEXT,
    "group": _TEXT,
    "trial": _INT,
    "agent_name": _TEXT,
    "agent_fingerprint": _TEXT,
    "agent_config": _TEXT,  # canonical JSON of the allow-listed short values
    "platform": _TEXT,
    "ended_at": _TEXT,  # as written in call.json
    "ended_by": _TEXT,  # agent | caller | system | unknown
    "ended_reason": _TEXT,
    "exclusion_reason": _TEXT,  # the bundle's own, or why it could not be read; null = usable
    "timing_source": _TEXT,  # measured | reported | null = no timing at all
    "timing_reasons": _TEXTS,  # why timing is not evaluated; empty = evaluated
    "condition_class": _TEXT,  # key into timing_uncertainty_ms
    "duration_ms": _INT,
    "window_from_ms": _INT,
    "window_to_ms": _INT,
    "has_trace": _BOOL,  # a readable trace.json, were it empty
    "has_caller_calls": _BOOL,  # it tells what the caller did with tools, were it nothing
    "has_transcript": _BOOL,
    "has_verdicts": _BOOL,
    "warnings": _TEXTS,  # problem codes that do not change the result
}

#: Stretches of sound on one channel, after boundary refinement; rejected ones are kept too.
SEGMENTS: Columns = {
    "call_id": _TEXT,
    "channel": _TEXT,  # caller | agent
    "start_ms": _INT,
    "end_ms": _INT,
    "rejected": _TEXT,  # null = this party speaking; else why not (echo, ignored, no_speech, …)
    "source": _TEXT,  # measured | reported
}

TOOL_CALLS: Columns = {
    "call_id": _TEXT,
    "position": _INT,  # 0-based place in the trace
    "id": _TEXT,
    "name": _TEXT,
    "status": _TEXT,  # ok | error | cancelled | missing | unknown
    "start_ms": _INT,
    "end_ms": _INT,
    "arguments": _TEXT,  # canonical JSON, null = could not be parsed
    "raw_arguments": _TEXT,
    "result": _TEXT,  # canonical JSON
}

#: What the (simulated) caller did with tools of its own: never the agent's.
CALLER_CALLS: Columns = {**TOOL_CALLS}

#: One row a turn of the transcript that is read: the platform's, or where a call brings none and a
#: transcriber heard it, the turns of ``asr_turns``.
TRANSCRIPT: Columns = {
    "call_id": _TEXT,
    "position": _INT,
    "speaker": _TEXT,  # caller | agent
    "start_ms": _INT,
    "end_ms": _INT,
    "text": _TEXT,
    "heard_text": _TEXT,  # what was really played, null = as written; empty if unsupported
    "n_words": _INT,  # of heard_text if given, else of text
    "supported": _BOOL,  # its side speaks there; false = withheld, null = not known
    "source": _TEXT,  # platform | asr
    "origin": _TEXT,  # the source that transcript.json names; the transcriber's model
}

#: One row a turn as a runtime reported it, of a call without a recording.
REPORTED_TURNS: Columns = {
    "call_id": _TEXT,
    "position": _INT,
    "speaker": _TEXT,  # caller | agent
    "start_ms": _INT,
    "end_ms": _INT,
    "silent": _BOOL,  # an agent turn in which nothing was said
    "origin": _TEXT,  # who reported it
}

#: One row a wait before an agent turn as a runtime reported it, in order; there may be more or
#: fewer than agent turns.
REPORTED_LATENCIES: Columns = {
    "call_id": _TEXT,
    "position": _INT,
    "latency_ms": _INT,  # on the runtime's own clock
}

#: One row a stage of an answer, as the platform says: reported, of other clocks than the waits that
#: are measured, and read by no event, rate or gate.
REPORTED_STAGES: Columns = {
    "call_id": _TEXT,
    "stage": _TEXT,  # endpointing | recognition | model | synthesis
    "position": _INT,  # among what is reported of this stage; of two stages, they need not agree
    "value_ms": _INT,
    "origin": _TEXT,  # who reported it
}

WORDS: Columns = {
    "call_id": _TEXT,
    "turn": _INT,
    "position": _INT,
    "speaker": _TEXT,
    "word": _TEXT,
    "start_ms": _INT,
    "end_ms": _INT,
    "source": _TEXT,  # platform | asr
}

#: One row a turn that the transcriber heard, whatever transcript the call brings.
ASR_TURNS: Columns = {
    "call_id": _TEXT,
    "position": _INT,
    "speaker": _TEXT,
    "start_ms": _INT,
    "end_ms": _INT,
    "text": _TEXT,
    "n_words": _INT,
}

#: One row a word that the transcriber gave, those left out too.
ASR_WORDS: Columns = {
    "call_id": _TEXT,
    "speaker": _TEXT,
    "position": _INT,  # among the words of its side
    "turn": _INT,  # in asr_turns; null = left out
    "word": _TEXT,
    "start_ms": _INT,
    "end_ms": _INT,
    "probability": _REAL,
    "dropped": _TEXT,  # null = part of a turn; else why not (no_speech)
}

#: One row a side of a call that has both transcripts: the platform's is the reference.
WORD_ERRORS: Columns = {
    "call_id": _TEXT,
    "speaker": _TEXT,
    "normaliser": _TEXT,
    "n_words": _INT,  # of the platform's transcript
    "n_own_words": _INT,
    "substitutions": _INT,
    "deletions": _INT,  # words that only the platform's transcript has
    "insertions": _INT,  # words that only the transcriber heard
    "negations": _INT,  # differences that hold a "not" more or less
    "numbers": _INT,  # differences in a number
}

#: One row a place where both transcripts differ.
TRANSCRIPT_DIFFERENCES: Columns = {
    "call_id": _TEXT,
    "speaker": _TEXT,
    "position": _INT,  # among the differences of its side
    "at_ms": _INT,  # start of the turn that was heard, else of the platform's
    "turn": _INT,  # in transcript; null where it has no word before or here
    "own_turn": _INT,  # in asr_turns
    "words": _TEXT,  # the platform's, normalised; empty = none
    "own_words": _TEXT,
    "is_negation": _BOOL,
    "is_number": _BOOL,
}

#: One row a question answered (or left undetermined) about a call.
VERDICTS: Columns = {
    "call_id": _TEXT,
    "question": _TEXT,
    "verdict": _BOOL,  # null = undetermined
    "turn": _INT,
    "reason": _TEXT,
    "model": _TEXT,
    "model_sha256": _TEXT,
    "rubric_sha256": _TEXT,
    "source": _TEXT,  # recorded | judge
    "undetermined": _TEXT,  # why the judge's answer is none; null = answered, or recorded
    "p_true": _REAL,  # probability of each word at the verdict token; null = not asked here
    "p_false": _REAL,
    "raw": _TEXT,  # what the judge wrote, whole
    "answer_key": _TEXT,  # digest of model, rubric, token ids, parameters and build
}

STATES: Columns = {
    "call_id": _TEXT,
    "before": _TEXT,  # canonical JSON
    "after": _TEXT,
    "expected": _TEXT,
}

#: One row a channel: the file it came from and what its sound is like.
MEDIA: Columns = {
    "call_id": _TEXT,
    "channel": _TEXT,
    "file": _TEXT,
    "sha256": _TEXT,
    "format": _TEXT,
    "codec": _TEXT,
    "sample_rate_hz": _INT,
    "channel_index": _INT,
    "frames": _INT,
    "duration_ms": _INT,
    "missing_ms": _INT,  # promised by the header and not there
    "dc_offset": _REAL,
    "peak_dbfs": _REAL,
    "active_dbfs": _REAL,  # level of its speech, null = none
    "floor_dbfs": _REAL,
    "clipped_fraction": _REAL,
    "leak_delay_ms": _INT,  # of the other side's sound in this channel; null = none
    "leak_db": _REAL,  # its gain
    "leak_removed_db": _REAL,  # fall of the level while the other side sounds
    "background_near": _BOOL,  # the party was found in front of a near background
    "snr_db": _REAL,  # party above background
    "separation": _REAL,  # party from background, in standard deviations
    "doubt": _REAL,  # share of frames near even odds
}

UTTERANCES: Columns = {
    "call_id": _TEXT,
    "position": _INT,
    "start_ms": _INT,
    "end_ms": _INT,
    "voiced_ms": _INT,
}

TURNS: Columns = {
    "call_id": _TEXT,
    "position": _INT,
    "start_ms": _INT,
    "end_ms": _INT,
    "voiced_ms": _INT,
}

#: One row a caller utterance: what became of it.
REPLIES: Columns = {
    "call_id": _TEXT,
    "utterance": _INT,
    "start_ms": _INT,
    "end_ms": _INT,
    "status": _TEXT,  # replied | no_reply | censored | overlapped | simultaneous
    "clock_ms": _INT,  # when the wait began; null where there is none
    "latency_ms": _INT,  # replied only
    "waited_ms": _INT,  # no_reply and censored only
    "tool_in_wait": _BOOL,  # a tool call ran in the wait; null = no wait, or not known
}

#: One row an agent turn that begins inside a caller utterance.
TALK_OVERS: Columns = {
    "call_id": _TEXT,
    "turn": _INT,
    "utterance": _INT,
    "at_ms": _INT,
    "caller_end_ms": _INT,
    "value_ms": _INT,
    "kind": _TEXT,  # over_speech | cut_in
    "short": _BOOL,
    "simultaneous": _BOOL,
    "counted": _BOOL,
}

#: One row a caller utterance that begins while the agent is speaking.
BARGE_INS: Columns = {
    "call_id": _TEXT,
    "utterance": _INT,
    "turn": _INT,
    "at_ms": _INT,
    "caller_end_ms": _INT,
    "agent_end_ms": _INT,  # end of the agent group that was spoken into
    "kind": _TEXT,  # attempt | backchannel
    "outcome": _TEXT,  # yielded | kept | null = the window closes before it is told
    "yield_ms": _INT,  # yielded only
}

#: One row a long silence of the caller after an agent group.
SILENCES: Columns = {
    "call_id": _TEXT,
    "turn": _INT,
    "at_ms": _INT,
    "end_ms": _INT,
    "value_ms": _INT,
    "outcome": _TEXT,  # agent_spoke | caller_spoke | agent_hung_up | call_ended
    "tool_inside": _BOOL,  # a tool call ran in it; null = not known
}

#: One row a tool call that has ended within the window: when the agent was heard after it.
TOOL_RESULTS: Columns = {
    "call_id": _TEXT,
    "position": _INT,  # in tool_calls
    "at_ms": _INT,
    "outcome": _TEXT,  # spoke | agent_speaking | caller_first | later_result | no_sound
    "first_sound_ms": _INT,  # spoke only
}

EVENTS: Columns = {
    "call_id": _TEXT,
    "type": _TEXT,
    "severity": _INT,
    "at_ms": _INT,
    "end_ms": _INT,
    "value": _INT,
    "threshold": _INT,
    "margin_ms": _INT,
    "source": _TEXT,  # audio | transcript | trace | judge | trace × judge
    "counted": _BOOL,  # the one of its type that the tallies count
    "evidence_key": _TEXT,  # where to look: replies/3, tool_calls/1, verdicts/wrong_info
}

#: What is wrong with the inputs, as read.
PROBLEMS: Columns = {
    "call_id": _TEXT,
    "level": _TEXT,
    "code": _TEXT,
    "file": _TEXT,
    "pointer": _TEXT,
    "message": _TEXT,
}

TABLES: dict[str, Columns] = {
    "calls": CALLS,
    "segments": SEGMENTS,
    "tool_calls": TOOL_CALLS,
    "caller_calls": CALLER_CALLS,
    "transcript": TRANSCRIPT,
    "reported_turns": REPORTED_TURNS,
    "reported_latencies": REPORTED_LATENCIES,
    "reported_stages": REPORTED_STAGES,
    "words": WORDS,
    "asr_turns": ASR_TURNS,
    "asr_words": ASR_WORDS,
    "word_errors": WORD_ERRORS,
    "transcript_differences": TRANSCRIPT_DIFFERENCES,
    "verdicts": VERDICTS,
    "states": STATES,
    "media": MEDIA,
    "utterances": UTTERANCES,
    "turns": TURNS,
    "replies": REPLIES,
    "talk_overs": TALK_OVERS,
    "barge_ins": BARGE_INS,
    "silences": SILENCES,
    "tool_results": TOOL_RESULTS,
    "events": EVENTS,
    "problems": PROBLEMS,
}

#: The sort key of each table; unique except in ``events`` and ``problems``.
KEYS: dict[str, tuple[str, ...]] = {
    "calls": ("call_id",),
    "segments": ("call_id", "channel", "start_ms", "end_ms"),
    "tool_calls": ("call_id", "position"),
    "caller_calls": ("call_id", "position"),
    "transcript": ("call_id", "position"),
    "reported_turns": ("call_id", "position"),
    "reported_latencies": ("call_id", "position"),
    "reported_stages": ("call_id", "stage", "position"),
    "words": ("call_id", "turn", "position"),
    "asr_turns": ("call_id", "position"),
    "asr_words": ("call_id", "speaker", "position"),
    "word_errors": ("call_id", "speaker"),
    "transcript_differences": ("call_id", "speaker", "position"),
    "verdicts": ("call_id", "question"),
    "states": ("call_id",),
    "media": ("call_id", "channel"),
    "utterances": ("call_id", "position"),
    "turns": ("call_id", "position"),
    "replies": ("call_id", "utterance"),
    "talk_overs": ("call_id", "turn"),
    "barge_ins": ("call_id", "utterance"),
    "silences": ("call_id", "at_ms"),
    "tool_results": ("call_id", "position"),
    "events": ("call_id", "type", "at_ms", "evidence_key"),
    "problems": ("call_id", "file", "pointer", "code", "message"),
}


def empty_table(name: str) -> pl.DataFrame:
    """Return the table `name` with its columns and no row."""
    return pl.DataFrame(schema=TABLES[name])


def make_table(name: str, rows: list[dict[str, object]]) -> pl.DataFrame:
    """Return rows as the table `name`, missing columns null, sorted by its key."""
    return sort_table(name, pl.DataFrame(rows, schema=TABLES[name], strict=True, orient="row"))


def sort_table(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return `frame` with the declared columns in order, sorted by the table's key."""
    return frame.select(TABLES[name].keys()).sort(KEYS[name], nulls_last=True)
