"""The program: `prong`, or `python -m prong`."""

import gc

from prong.cli import main


def run() -> None:
    try:
        main()
    finally:
        # Python would look for what can be freed in all that there is, and then end anyway.
        gc.freeze()


if __name__ == "__main__":
    run()
