"""One connection: the only module of the package that opens any, for `models pull` alone.

Bytes are fetched over https; over plain http from this machine itself or where the user allows it.
A redirect never leads to another scheme. No cookies, credentials or state; proxies are those of the
environment.
"""

from __future__ import annotations

import http.client
import ipaddress
import re
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from inquesto_core import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import Message
    from typing import IO

__all__ = ["ConnectionFailed", "Transfer", "is_web_address", "open_transfer", "shown_address"]

_TIMEOUT_S = 60
_CHUNK = 1 << 20
_PARTIAL, _RANGE_REFUSED = 206, 416
#: Answers that another try may better.
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})


class ConnectionFailed(Exception):
    """A connection that gave no bytes, or not all.

    Parameters
    ----------
    reason : str
    may_pass : bool
        The same request may succeed later.
    """

    def __init__(self, reason: str, *, may_pass: bool) -> None:
        super().__init__(reason)
        self.may_pass = may_pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """Bytes on their way.

    Parameters
    ----------
    start : int
        Where in the file they begin: what was asked for, or 0 where the server sends all of it.
    total : int or None
        The whole file's length, where the server tells.
    validator : str or None
        What names this version of the file: a strong ETag, else its date.
    """

    start: int
    total: int | None
    validator: str | None
    _body: Any

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes.

        Raises
        ------
        ConnectionFailed
            The connection broke. One that ends too early may also just end.
        """
        try:
            with self._body as body:
                while chunk := body.read(_CHUNK):
                    yield chunk
        except http.client.IncompleteRead as exc:
            if exc.partial:
                yield exc.partial
            raise ConnectionFailed("the connection was cut", may_pass=True) from exc
        except (OSError, http.client.HTTPException) as exc:
            raise ConnectionFailed(f"the connection broke ({exc})", may_pass=True) from exc

    def close(self) -> None:
        """Hang up."""
        self._body.close()


def is_web_address(source: str) -> bool:
    """Return whether a source is fetched over a connection.

    >>> is_web_address("https://host/file"), is_web_address("file:///a"), is_web_address("/a")
    (True, False, False)
    """
    return re.match(r"https?://", source, re.IGNORECASE) is not None


def shown_address(source: str) -> str:
    """Return an address as it may be printed: without user, password, query and fragment.

    >>> shown_address("https://me:secret@host/a?signature=1#x")
    'https://host/a'
    """
    parts = urlsplit(source)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _is_this_machine(host: str | None) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def _refusal(address: str, *, allow_http: bool) -> str | None:
    """Return why an address is not fetched from, None if it may be."""
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"}:
        return f"leads to the scheme {parts.scheme!r}, which is never followed"
    if parts.scheme == "http" and not (allow_http or _is_this_machine(parts.hostname)):
        return f"would be fetched over plain http from {parts.hostname}; --allow-http allows it"
    if parts.username or parts.password:
        return "holds a user or password, which is never sent"
    return None


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows to http(s) alone, and never from https to http."""

    def __init__(self, *, allow_http: bool) -> None:
        self._allow_http = allow_http

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        refusal = _refusal(newurl, allow_http=self._allow_http)
        if refusal is None and urlsplit(newurl).scheme == "http" and req.type == "https":
            refusal = "leads from https to plain http, which is never followed"
        if refusal is not None:
            raise ConnectionFailed(f"its redirect {refusal}", may_pass=False)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener(address: str, *, allow_http: bool) -> urllib.request.OpenerDirector:
    """Return what opens http and https and no other scheme."""
    opener = urllib.request.OpenerDirector()
    proxies: dict[str, str] | None = {} if _is_this_machine(urlsplit(address).hostname) else None
    for handler in (
        urllib.request.ProxyHandler(proxies),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        _Redirects(allow_http=allow_http),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def open_transfer(address: str, *, start: int, validator: str | None, allow_http: bool) -> Transfer:
    """Return the bytes of a file from `start` on, or all of them where the server will not resume.

    Parameters
    ----------
    start : int
        How many bytes are here.
    validator : str or None
        What named the version that those are of; another version is sent whole.
    allow_http : bool
        Plain http is allowed to any host.

    Raises
    ------
    ConnectionFailed
    """
    refusal = _refusal(address, allow_http=allow_http)
    if refusal is not None:
        raise ConnectionFailed(refusal, may_pass=False)
    headers = {"User-Agent": f"inquesto-core/{__version__}", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
        if validator is not None:
            headers["If-Range"] = validator
    try:
        request = urllib.request.Request(address, headers=headers)
        response = _opener(address, allow_http=allow_http).open(request, timeout=_TIMEOUT_S)
    except urllib.error.HTTPError as exc:
        exc.close()
        if exc.code == _RANGE_REFUSED and start:
            return open_transfer(address, start=0, validator=None, allow_http=allow_http)
        raise ConnectionFailed(
            f"answers {exc.code} {exc.reason}", may_pass=exc.code in _PASSING
        ) from exc
    except (OSError, ValueError, http.client.HTTPException) as exc:
        reason = getattr(exc, "reason", exc)
        raise ConnectionFailed(f"cannot be reached ({reason})", may_pass=True) from exc
    first, total = _extent(response.status, response.headers)
    if first not in {0, start}:
        response.close()
        raise ConnectionFailed(f"sends bytes from {first} on, not {start}", may_pass=False)
    return Transfer(
        start=first, total=total, validator=_validator(response.headers), _body=response
    )


def _extent(status: int, headers: Message) -> tuple[int, int | None]:
    """Return where the answer's bytes begin, and the whole file's length where it is told."""
    if status == _PARTIAL:
        told = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", headers.get("Content-Range", ""))
        if told is None:
            raise ConnectionFailed("sends a part without saying which", may_pass=False)
        return int(told[1]), None if told[2] == "*" else int(told[2])
    length = headers.get("Content-Length", "")
    return 0, int(length) if length.isdigit() else None


def _validator(headers: Message) -> str | None:
    tag: str | None = headers.get("ETag")
    if tag is not None and not tag.startswith("W/"):
        return tag
    return headers.get("Last-Modified")
