"""What the names of objects say about bundles, whatever server they lie on."""

from __future__ import annotations

import pytest

from inquesto_core.bundle.remote import listing_of


def listed(*names, max_depth=3):
    return listing_of(names, max_depth=max_depth)


def codes(listing):
    return [problem.code for problem in listing.problems]


def test_a_folder_with_a_call_json_is_a_bundle_and_what_lies_deeper_belongs_to_it():
    found = listed("b/call.json", "a/call.json", "a/audio/x.flac", "a/old/call.json", "x/y.txt")
    assert found.bundles == ("a", "b")
    assert found.problems == ()


def test_the_prefix_itself_may_be_the_bundle():
    assert listed("call.json", "a/call.json").bundles == ("",)


def test_parts_without_a_call_json_and_archives_are_named():
    found = listed("a/trace.json", "a/state.json", "b.zip", "c/d.tar")
    assert [(p.code, p.file, p.level) for p in found.problems] == [
        ("nested_archive", "b.zip", "warning"),
        ("call_json_missing", "a", "error"),
        ("nested_archive", "c/d.tar", "warning"),
    ]


def test_prefixes_are_followed_to_a_depth_and_not_further():
    assert listed("a/b/c/call.json").bundles == ("a/b/c",)
    found = listed("a/b/c/d/call.json", "a/b/c/d/e/call.json")
    assert found.bundles == ()
    assert [(p.code, p.file) for p in found.problems] == [("too_deep", "a/b/c/d")]


@pytest.mark.parametrize(
    "name",
    [
        "a/../call.json",
        "../a/call.json",
        "a/./call.json",
        "a//call.json",
        "/a/call.json",
        "a\\b/call.json",
        "a\nb/call.json",
        "x" * 256 + "/call.json",
    ],
    ids=ascii,
)
def test_a_name_that_is_no_path_is_passed_over_and_told(name):
    found = listed(name, "good/call.json")
    assert found.bundles == ("good",)
    assert codes(found) == ["remote_name"]
    assert "\n" not in str(found.problems[0])


def test_names_with_odd_signs_are_names():
    odd = "a b%20+é?#&=:;'\"*"
    assert listed(f"{odd}/call.json").bundles == (odd,)


def test_a_population_beside_the_bundles_is_seen_and_one_deeper_is_not():
    assert listed("population.json", "a/call.json").has_population
    assert not listed("a/population.json", "a/call.json").has_population
