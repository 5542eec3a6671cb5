"""Install the Debian packages the tests need, or say which are missing.

Runs before the virtual environment exists, so it imports the standard library alone.
"""

import fcntl
import glob
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

POLICY = Path("/usr/sbin/policy-rc.d")
DENIED = 101
OUR_POLICY = f"#!/bin/sh\n# Put here by tests/servers/packages.py for the time it runs.\nexit {DENIED}\n"
CYRILLIC_FONTS = ("/usr/share/fonts/**/DejaVuSans.ttf", "/usr/share/fonts/**/NotoSans-Regular.*")


@dataclass(frozen=True)
class Package:
    """A Debian package, the files that show its content is there, and the variable that replaces it."""

    name: str
    files: tuple[str, ...]
    replaced_by: str | None = None

    def is_present(self) -> bool:
        """Tell whether any of the files exists, whoever put it there."""
        return any(locate(file) is not None for file in self.files)


PACKAGES = (
    Package("postgresql", ("/usr/lib/postgresql/*/bin/initdb", "initdb"), "TEST_DATABASE_URL"),
    Package("rabbitmq-server", ("/usr/lib/rabbitmq/bin/rabbitmq-server", "rabbitmq-server"), "TEST_AMQP_URL"),
    Package("redis-server", ("redis-server",), "TEST_REDIS_URL"),
    Package("clickhouse-server", ("clickhouse-server",), "TEST_CLICKHOUSE_URL"),
    # The proxy that compose.yaml puts before the product.
    Package("nginx-light", ("/usr/sbin/nginx", "nginx")),
    Package("chromium", ("chromium", "chromium-browser", "google-chrome")),
    Package("gettext", ("msgfmt",)),
    # Brings the modeler that workflows are drawn with.
    Package("npm", ("npm",)),
    # Without a font that has Cyrillic letters the screenshots of the Russian pages show boxes.
    Package("fonts-dejavu-core", CYRILLIC_FONTS),
)


def main() -> int:
    """Bring in what is missing; return the exit code."""
    missing = find_missing(os.environ)
    if not missing:
        return 0
    if os.environ.get("NO_APT") or os.geteuid() != 0 or shutil.which("apt-get") is None:
        _ask_for(missing)
        return 1
    return install(missing)


def find_missing(environment: Mapping[str, str]) -> list[str]:
    """Name the packages whose content is neither present nor replaced by a server that is there."""
    return [
        package.name
        for package in PACKAGES
        if not (package.replaced_by and environment.get(package.replaced_by)) and not package.is_present()
    ]


def get_program(*files: str) -> str:
    """Give the path of the first of the programs that is there."""
    for file in files:
        if path := locate(file):
            return path
    raise FileNotFoundError(f"{files[-1]} is not installed: run `python3 tests/servers/packages.py`.")


def locate(file: str) -> str | None:
    """Find an executable by name, or the highest match of an absolute pattern."""
    if not file.startswith("/"):
        return shutil.which(file) or shutil.which(file, path="/usr/local/sbin:/usr/sbin:/sbin")
    matches = glob.glob(file, recursive=True)
    return max(matches, key=_by_version) if matches else None


def _by_version(path: str) -> tuple[int, str]:
    numbers = [int(part) for part in Path(path).parts if part.isdecimal()]
    return (max(numbers, default=0), path)


def install(packages: Sequence[str]) -> int:
    """Install the packages without starting a server; show what apt said only when it failed."""
    print(f"Installing {' '.join(packages)} (NO_APT=1 to refuse)", flush=True)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    with tempfile.TemporaryDirectory(prefix="postern-apt-") as folder, services_denied(packages):
        log = Path(folder) / "apt.log"
        # An archive that cannot be reached matters only if a package was to come from it.
        _run_quietly(["apt-get", "update"], log)
        if _run_quietly(install_command(packages), log):
            print(log.read_text(errors="replace"), file=sys.stderr)
            _ask_for(packages)
            return 1
    return _check_again(packages)


def _ask_for(packages: Sequence[str]) -> None:
    print("The tests need packages that are not installed. As root:", file=sys.stderr)
    print(f"  {shlex.join(install_command(packages))}", file=sys.stderr)
    variables = [p.replaced_by for p in PACKAGES if p.name in packages and p.replaced_by]
    if variables:
        print(f"or point {', '.join(variables)} at servers that exist already.", file=sys.stderr)


def install_command(packages: Sequence[str]) -> list[str]:
    """Give the command that installs the packages."""
    return ["apt-get", "install", "-y", "--no-install-recommends", *packages]


def _leave(number: int, _frame: object) -> NoReturn:
    # By an exception, because the default action of a signal would leave our policy behind.
    sys.exit(128 + number)


@contextmanager
def services_denied(services: Sequence[str], policy: Path = POLICY) -> Iterator[None]:
    """Keep Debian's packages from starting their servers while they are installed."""
    with _locked(policy.parent):
        _take_ours_away(policy)
        if _denies(policy, services):
            yield
            return
        try:
            _put_ours(policy)
            yield
        finally:
            _take_ours_away(policy)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    # Two runs at once would take each other's policy away.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _take_ours_away(policy: Path) -> None:
    """Restore what was there before this run, or before one that was killed half-way."""
    if policy.exists() and policy.read_text(errors="replace") == OUR_POLICY:
        policy.unlink()
    if not policy.exists() and _set_aside(policy).exists():
        _set_aside(policy).rename(policy)


def _denies(policy: Path, services: Sequence[str]) -> bool:
    if not os.access(policy, os.X_OK):
        return False
    questions = ([str(policy), service, "start"] for service in services)
    answers = (subprocess.run(question, check=False, capture_output=True) for question in questions)
    return all(answer.returncode == DENIED for answer in answers)


def _put_ours(policy: Path) -> None:
    if policy.exists():
        policy.rename(_set_aside(policy))
    policy.write_text(OUR_POLICY)
    policy.chmod(0o755)


def _set_aside(policy: Path) -> Path:
    return policy.with_name(f"{policy.name}.before-postern")


def _run_quietly(command: Sequence[str], log: Path) -> int:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    # Two runs that start at once wait for one another instead of failing on dpkg's lock.
    waiting = [command[0], "-o", "DPkg::Lock::Timeout=300", *command[1:]]
    with log.open("a") as output:
        apt = subprocess.Popen(
            waiting, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        return apt.wait()
    except (KeyboardInterrupt, SystemExit):
        # It stops as soon as it safely can; cut off, it would leave dpkg to start servers without our policy.
        apt.send_signal(signal.SIGINT)
        apt.wait()
        raise


def _check_again(packages: Sequence[str]) -> int:
    still_missing = [name for name in find_missing(os.environ) if name in packages]
    if still_missing:
        print(f"Installed, but without the expected programs: {' '.join(still_missing)}", file=sys.stderr)
    return 1 if still_missing else 0


if __name__ == "__main__":
    sys.exit(main())
