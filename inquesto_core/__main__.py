"""``python -m inquesto_core`` is the command ``inquesto-core``."""

from inquesto_core.cli import main

if __name__ == "__main__":
    main()
