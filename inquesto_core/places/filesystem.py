"""The remote filesystems of pyarrow, and what their errors mean; the one module that opens them.

Settings and credentials come from the environment, as docs/remote.md lists them.
"""

from __future__ import annotations

import functools
import os
import re
from typing import Any

from inquesto_core.errors import Problem, StoreError

__all__ = ["below", "failure", "open_filesystem"]

#: Of one request, the first included; pyarrow waits longer before each.
_ATTEMPTS = 4
_CONNECT_S = 5.0
_REQUEST_S = 60.0

_ENDPOINT = re.compile(r"(?P<scheme>https?)://(?P<host>[^/@?#]+)/?")
_AWS = re.compile(r"AWS Error (?P<kind>\w+)(?: \(HTTP status (?P<status>\d+)\))?")
_DENIED = frozenset(
    {"ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH", "EXPIRED_TOKEN"}
)
_AWAY = frozenset({"NETWORK_CONNECTION", "REQUEST_TIMEOUT", "SERVICE_UNAVAILABLE", "SLOW_DOWN"})


@functools.cache
def open_filesystem(scheme: str, authority: str) -> tuple[Any, str]:
    """Return pyarrow's filesystem of a bucket, and the bucket's path in it.

    Raises
    ------
    StoreError
        ``remote_settings``, or as `failure` says.
    """
    import pyarrow as pa
    from pyarrow import fs

    try:
        if scheme == "s3":
            return fs.S3FileSystem(**_s3_settings(authority)), authority
        filesystem, base = fs.FileSystem.from_uri(f"{scheme}://{authority}/")
    except TypeError as exc:
        raise _error(
            "remote_settings",
            "this pyarrow takes no AWS_CA_BUNDLE",
            "a newer pyarrow",
            "install one, or unset it",
        ) from exc
    except (OSError, ValueError, NotImplementedError, pa.ArrowException) as exc:
        raise failure(exc, f"{scheme}://{authority}") from exc
    return filesystem, str(base).rstrip("/")


def below(path: str, *, is_deep: bool) -> Any:
    """Return pyarrow's selector of what lies in a path, or of everything below it."""
    from pyarrow import fs

    return fs.FileSelector(path, recursive=is_deep)


def _s3_settings(bucket: str) -> dict[str, Any]:
    from pyarrow import fs

    settings: dict[str, Any] = {
        "connect_timeout": _CONNECT_S,
        "request_timeout": _REQUEST_S,
        "retry_strategy": fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        # One PUT writes a small object, instead of the three requests of an upload in parts.
        "allow_delayed_open": True,
    }
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        found = _ENDPOINT.fullmatch(endpoint)
        if found is None:
            raise StoreError(
                Problem(
                    code="remote_settings",
                    found="AWS_ENDPOINT_URL is no address of a server",
                    expected="http://host:port or https://host",
                )
            )
        settings |= {"scheme": found["scheme"], "endpoint_override": found["host"]}
        region = region or "us-east-1"
    elif not region:
        region = fs.resolve_s3_region(bucket)
    authorities = os.environ.get("AWS_CA_BUNDLE")
    if authorities:
        settings["tls_ca_file_path"] = authorities
    return {**settings, "region": region}


def failure(exc: Exception, where: str) -> StoreError:
    """Return what an error of a remote filesystem means, in one line.

    Codes: ``remote_unreachable``, ``remote_denied``, ``remote_missing``, ``remote_failed``.
    """
    text = str(exc)
    aws = _AWS.search(text)
    kind, status = (aws["kind"], aws["status"]) if aws else ("", None)
    if kind in _AWAY or status in {"500", "502", "503", "504"} or _is_network(text):
        return _error(
            "remote_unreachable",
            f"{where} does not answer, after {_ATTEMPTS} tries",
            "a server that can be reached",
            "look at the connection, AWS_ENDPOINT_URL and the proxy, then run it again",
        )
    if kind in _DENIED or status in {"401", "403"} or "credentials" in text.lower():
        return _error(
            "remote_denied",
            f"{where} may not be read or written by these credentials",
            "credentials in the environment that may",
            "docs/remote.md says which are read",
        )
    is_nowhere = isinstance(exc, FileNotFoundError) or kind == "NO_SUCH_BUCKET"
    if is_nowhere or re.search(r"[Bb]ucket .*not found", text):
        return _error("remote_missing", f"{where} has no such bucket", "a bucket that exists", "")
    told = f"AWS error {kind}" if kind else f"{type(exc).__name__}: {text.splitlines()[0][:160]}"
    return _error("remote_failed", f"{where}: {told}", "an answer", "run it again")


def _is_network(text: str) -> bool:
    return re.search(r"curlCode|[Cc]ould ?n.t connect|timed? ?out|UNAVAILABLE", text) is not None


def _error(code: str, found: str, expected: str, remedy: str) -> StoreError:
    return StoreError(Problem(code=code, found=found, expected=expected, remedy=remedy))
