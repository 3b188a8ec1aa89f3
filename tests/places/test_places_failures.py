"""What an error of a remote filesystem means: one line, with what to do."""

from __future__ import annotations

import pytest

from inquesto_core.places import filesystem
from inquesto_core.places.filesystem import failure

AWS = "When {doing} for key 'a' in bucket 'b': AWS Error {kind} during GetObject operation: {told}"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (AWS.format(doing="reading", kind="NETWORK_CONNECTION", told="curlCode: 7"), "unreachable"),
        (AWS.format(doing="reading", kind="SLOW_DOWN", told="."), "unreachable"),
        (AWS.format(doing="x", kind="UNKNOWN (HTTP status 503)", told="\n<html>"), "unreachable"),
        ("google::cloud::Status(UNAVAILABLE: Retry policy exhausted)", "unreachable"),
        (AWS.format(doing="reading", kind="ACCESS_DENIED", told="No response body."), "denied"),
        (AWS.format(doing="x", kind="UNKNOWN (HTTP status 403)", told="."), "denied"),
        ("Could not create credentials", "denied"),
        (AWS.format(doing="listing", kind="NO_SUCH_BUCKET", told="."), "missing"),
        ("Bucket 'b' not found", "missing"),
        (AWS.format(doing="x", kind="UNKNOWN (HTTP status 411)", told="KEY=hunter2"), "failed"),
        ("some\nthing else", "failed"),
    ],
)
def test_an_error_is_one_line_of_its_kind(text, code):
    problem = failure(OSError(text), "s3://b/a").problem
    assert problem.code == f"remote_{code}"
    assert str(problem).startswith("s3://b/a")
    assert "\n" not in str(problem)
    assert "hunter2" not in str(problem)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"AWS_ENDPOINT_URL": "http://h:9000"}, ("http", "h:9000", "us-east-1")),
        (
            {"AWS_ENDPOINT_URL": "http://h", "AWS_ENDPOINT_URL_S3": "https://s3.example/"},
            ("https", "s3.example", "us-east-1"),
        ),
        ({"AWS_DEFAULT_REGION": "eu-1"}, (None, None, "eu-1")),
        (
            {"AWS_REGION": "eu-2", "AWS_DEFAULT_REGION": "eu-1", "AWS_ENDPOINT_URL": "http://h"},
            ("http", "h", "eu-2"),
        ),
    ],
)
def test_settings_come_from_the_environment(monkeypatch, environment, expected):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    given = filesystem._s3_settings("bucket")
    found = tuple(given.get(name) for name in ("scheme", "endpoint_override", "region"))
    assert found == expected
