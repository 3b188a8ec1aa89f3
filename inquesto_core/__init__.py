"""Score recorded voice-agent calls, offline and reproducibly, under the Inquesto Score protocol."""

__version__ = "0.1.0"
