"""Fill the disk of `DATA_DIR` to its last byte and go on counting: `python -m tests.faults.count_on_full_disk`."""

import os

from config.counters import remove_own_folder, share_counters


def main() -> None:
    share_counters()
    from prometheus_client import Counter  # looks for its folder in the environment when it is imported

    _fill(f"{os.environ['DATA_DIR']}/filler")
    counter = Counter("drill", "what is counted", ["name"])
    for number in range(5000):
        counter.labels(str(number)).inc()
    remove_own_folder()


def _fill(path: str) -> None:
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            return  # no room is left


if __name__ == "__main__":
    main()
