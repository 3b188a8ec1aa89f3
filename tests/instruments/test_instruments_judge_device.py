"""What evaluates the judge's model is known, said, and part of what an answer is kept under."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import pytest
from judged import PROTOCOL, SETTINGS
from tiny_gguf import write_tiny_gemma2

from inquesto_core.errors import InstrumentError
from inquesto_core.instruments import judge_llama
from inquesto_core.instruments.judge_llama import LlamaJudge, judge_device
from inquesto_core.instruments.judge_settings import judge_settings

CPU, GPU, INTEGRATED, ACCELERATOR = 0, 1, 2, 3


def library(*devices, offloads=True):
    """Return a llama.cpp whose ggml finds devices, each (name of its backend, type)."""

    def named(at):
        return devices[at.value - 1]

    ggml = SimpleNamespace(
        ggml_backend_dev_count=lambda: len(devices),
        ggml_backend_dev_get=lambda at: at.value + 1,
        ggml_backend_dev_type=lambda at: named(at)[1],
        ggml_backend_dev_backend_reg=lambda at: at.value,
        ggml_backend_reg_name=lambda at: named(at)[0],
    )
    return SimpleNamespace(_lib=ggml, llama_supports_gpu_offload=lambda: offloads)


@pytest.mark.parametrize(
    ("devices", "found"),
    [
        pytest.param([(b"CUDA", GPU), (b"CUDA", GPU), (b"CPU", CPU)], "cuda", id="two of a kind"),
        pytest.param([(b"MTL", GPU), (b"BLAS", ACCELERATOR), (b"CPU", CPU)], "metal", id="mac"),
        pytest.param([(b"Vulkan", INTEGRATED), (b"CUDA", GPU)], "cuda+vulkan", id="both kinds"),
    ],
)
def test_the_class_of_a_gpu_is_that_of_its_backend(monkeypatch, devices, found):
    monkeypatch.setattr(judge_llama, "_load_library", lambda: (library(*devices), None))
    assert judge_device(1) == found


@pytest.mark.parametrize(
    ("devices", "offloads"),
    [
        pytest.param([(b"CPU", CPU)], False, id="built for the processor"),
        pytest.param(
            [(b"BLAS", ACCELERATOR), (b"CPU", CPU)], True, id="no device that holds layers"
        ),
    ],
)
def test_layers_for_a_gpu_that_is_not_there_are_refused(monkeypatch, devices, offloads):
    there = library(*devices, offloads=offloads)
    monkeypatch.setattr(judge_llama, "_load_library", lambda: (there, None))
    with pytest.raises(InstrumentError, match=r"--gpu-layers 9 asks for a GPU.*judge\.md.*gpu_mis"):
        judge_device(9)


def test_without_layers_for_a_gpu_the_device_is_the_processor_whatever_is_installed():
    assert judge_device(0) == "cpu"


def test_the_protocol_pins_the_processor_and_a_user_may_ask_for_another():
    pin = PROTOCOL.instruments.judge
    assert judge_settings(pin).gpu_layers == 0
    assert judge_settings(pin, gpu_layers=0) == judge_settings(pin) == SETTINGS
    assert judge_settings(pin, gpu_layers=7).gpu_layers == 7


def test_the_installed_library_names_its_devices_and_the_build_names_the_class(tmp_path):
    llama_cpp = pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")
    gguf = pytest.importorskip("gguf", reason="gguf is not installed: it writes the tiny model")
    native, _ = judge_llama._load_library()
    classes = judge_llama._gpu_classes(native)
    assert bool(classes) == bool(llama_cpp.llama_supports_gpu_offload())
    loaded = LlamaJudge(write_tiny_gemma2(tmp_path / "m.gguf", gguf), settings=SETTINGS)
    assert loaded.device == "cpu"
    assert loaded.build.startswith(f"llama-cpp-python {llama_cpp.__version__}; cpu; CPU : ")
    loaded.close()
    assert native._lib.ggml_backend_dev_count.restype is ctypes.c_size_t
    if not classes:
        with pytest.raises(InstrumentError, match="gpu_missing"):
            judge_device(1)
