"""``inquesto-core models``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from inquesto_core.cli.output import say

if TYPE_CHECKING:
    from rich.progress import TaskID

    from inquesto_core.instruments.model_parts import PinnedModel

__all__ = ["command"]

Show = Callable[[str, int, int], None]
_ROLES = ("judge", "asr")


def _models(protocol: str) -> dict[str, PinnedModel]:
    from inquesto_core.instruments.model_parts import pinned_model
    from inquesto_core.protocol import load_protocol

    pins = load_protocol(protocol).instruments
    return {"judge": pinned_model(pins.judge), "asr": pinned_model(pins.asr)}


@click.group("models")
def command() -> None:
    """Show, verify and fetch the pinned model files."""


@command.command("list")
@click.option("--protocol", default="inquesto-0.1", show_default=True, help="Name or folder.")
def list_(protocol: str) -> None:
    """Name the models that a protocol pins and say whether they are here."""
    from inquesto_core.errors import InstrumentError
    from inquesto_core.instruments.model_files import find_model_file
    from inquesto_core.instruments.model_parts import lacking_parts
    from inquesto_core.instruments.vad import find_model as find_vad_model
    from inquesto_core.protocol import load_protocol
    from inquesto_core.report.escape import escape_terminal

    vad = load_protocol(protocol).instruments.vad
    try:
        state, place = "ok", f"  {escape_terminal(str(find_vad_model(vad)))}"
    except InstrumentError as exc:
        state, place = "wrong" if exc.problem.code == "model_not_pinned" else "missing", ""
    say(f"vad  {vad.name} {vad.version}  {state}  sha256:{vad.sha256}{place}")
    for role, model in _models(protocol).items():
        found = find_model_file(model)
        where = "" if found.path is None else f"  {escape_terminal(str(found.path))}"
        is_half = found.state == "ok" and found.path and lacking_parts(model, found.path)
        state = "incomplete" if is_half else found.state
        say(f"{role}  {model.name}  {state}  sha256:{model.sha256}{where}")


@command.command("verify")
@click.option("--protocol", default="inquesto-0.1", show_default=True, help="Name or folder.")
def verify(protocol: str) -> int:
    """Read every pinned model anew; exit code 4 where one is missing or of another SHA-256."""
    from inquesto_core.cli.exit_codes import NOT_EVALUATED
    from inquesto_core.errors import InstrumentError
    from inquesto_core.instruments.model_files import forget_digests
    from inquesto_core.instruments.model_parts import require_whole_model
    from inquesto_core.instruments.vad import find_model as find_vad_model
    from inquesto_core.protocol import load_protocol
    from inquesto_core.report.escape import escape_terminal

    forget_digests()
    vad = load_protocol(protocol).instruments.vad
    checks: list[tuple[str, Callable[[], Path]]] = [("vad", lambda: find_vad_model(vad))]
    checks += [
        (role, partial(require_whole_model, model)) for role, model in _models(protocol).items()
    ]
    code = 0
    for role, find in checks:
        try:
            path = find()
        except InstrumentError as exc:
            code = NOT_EVALUATED
            say(f"{role}  {escape_terminal(str(exc))}")
        else:
            say(f"{role}  ok  {escape_terminal(str(path))}")
    return code


@contextmanager
def _progress() -> Iterator[Show]:
    """Give what shows how much of a file is here: a bar on a terminal, else a line a tenth."""
    if not sys.stderr.isatty():
        yield _plain_progress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn

    columns = ("{task.description}", BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        tasks: dict[str, TaskID] = {}

        def show(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=total)
            bar.update(tasks[name], completed=done)

        yield show


def _plain_progress() -> Show:
    shown: dict[str, int] = {}

    def show(name: str, done: int, total: int) -> None:
        tenth = 10 * done // total
        if shown.get(name) != tenth:
            shown[name] = tenth
            say(f"{name}: {done} of {total} bytes", err=True)

    return show


@command.command("pull")
@click.option("--protocol", default="inquesto-0.1", show_default=True, help="Name or folder.")
@click.option(
    "--role",
    type=click.Choice([*_ROLES, "all"]),
    default="all",
    show_default=True,
    help="Whose model.",
)
@click.option(
    "--from",
    "given",
    multiple=True,
    metavar="SOURCE",
    help="A file, a folder, or an https address of a file or (ending in /) of a folder, in place "
    "of the known source; may be given again.",
)
@click.option("--allow-http", is_flag=True, help="Allow plain http to other machines.")
def pull(protocol: str, role: str, given: tuple[str, ...], *, allow_http: bool) -> int:
    """Fetch the pinned model files that are not here into the user's cache folder.

    The only command that opens a connection. What has come of a broken transfer is kept; a file is
    put into place only with the pinned SHA-256. Exit code 4 where one could not be had.
    """
    from inquesto_core.cli.exit_codes import NOT_EVALUATED
    from inquesto_core.errors import InstrumentError
    from inquesto_core.instruments.model_files import shown_path
    from inquesto_core.instruments.model_pull import pull_model
    from inquesto_core.report.escape import escape_terminal

    if role == "all" and any(not text.endswith("/") and not Path(text).is_dir() for text in given):
        raise click.UsageError("--from names one file: say whose with --role judge or --role asr")
    code = 0
    for each, model in _models(protocol).items():
        if role not in {each, "all"}:
            continue
        try:
            with _progress() as show:
                path, is_new = pull_model(model, given=given, allow_http=allow_http, progress=show)
        except InstrumentError as exc:
            code = NOT_EVALUATED
            say(f"{each}  {escape_terminal(str(exc))}", err=True)
        else:
            terms = f"  (its terms: {model.terms})" if is_new and model.terms else ""
            state = "fetched" if is_new else "ok"
            say(f"{each}  {model.name}  {state}  {escape_terminal(shown_path(path))}{terms}")
    return code
