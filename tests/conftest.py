"""What every test may lean on: the shared set where it is at hand, and a closed network."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

# No test is timed: a busy machine is no fault of what is tested.
settings.register_profile("untimed", parent=settings(), deadline=None)
settings.load_profile("untimed")

PROJECT = Path(__file__).resolve().parents[1]

#: A sample call for each scenario, all of one agent; the first passes, seven fail.
TWELVE = (
    "001-dup_charge-clean",
    "003-dup_charge-telephone",
    "006-cancel_sub-clean",
    "008-update_card-clean",
    "012-invoice_up-telephone",
    "015-failed_order-telephone",
    "016-change_email-telephone",
    "021-confirm_payment-telephone",
    "023-escalate_refund-clean",
    "025-legit-dup_charge-clean",
    "028-impostor-dup_charge-telephone",
    "030-impostor-cancel_sub-clean",
)


@pytest.fixture(scope="session")
def project() -> Path:
    """Return the project's top folder."""
    return PROJECT


@pytest.fixture(scope="session")
def twelve_calls(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of twelve sample calls whose population expects them and no others."""
    samples = project / "sample_records"
    folder = tmp_path_factory.mktemp("samples") / "twelve"
    population = json.loads((samples / "population.json").read_bytes())
    population["design"]["cells"] = []
    for name in TWELVE:
        source = samples / "hasty" / f"hasty-{name}"
        shutil.copytree(source, folder / source.name)
        call = json.loads((source / "call.json").read_bytes())
        population["design"]["cells"].append(
            {
                "scenarios": [call["scenario_id"]],
                "conditions": [call["condition"]],
                "groups": [call["group"]],
            }
        )
    (folder / "population.json").write_text(json.dumps(population), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of real inputs with known answers, or skip where it is not at hand."""
    folder = PROJECT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("../shared is absent: the real recordings and published records are not here")
    return folder
