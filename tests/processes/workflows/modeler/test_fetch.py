import base64
import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from processes.workflows.modeler import fetch
from processes.workflows.modeler.fetch import Package, WrongPackage, fetch_all, unpack


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "drawn-1.0.0.tgz"
    with tarfile.open(path, "w:gz") as members:
        for name, content in (("dist/drawn.js", b"draw()\n//# sourceMappingURL=drawn.js.map\n"), ("font.woff", b"\0f")):
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(content)
            members.addfile(member, io.BytesIO(content))
    return path


def describe(archive: Path, **files: str) -> Package:
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    return {"name": "drawn", "version": "1.0.0", "integrity": f"sha512-{digest}", "files": files}


class TestUnpack:
    def test_takes_the_wanted_files_without_their_maps(self, archive: Path, tmp_path: Path) -> None:
        package: Package = {**describe(archive), "files": {"dist/drawn.js": "drawn.js", "font.woff": "font/drawn.woff"}}

        unpack(archive, package, tmp_path / "made")

        assert (tmp_path / "made/drawn.js").read_bytes().strip() == b"draw()"
        assert (tmp_path / "made/font/drawn.woff").read_bytes() == b"\0f"

    def test_takes_nothing_from_another_package(self, archive: Path, tmp_path: Path) -> None:
        package = describe(archive)
        archive.write_bytes(archive.read_bytes() + b"\0")

        with pytest.raises(WrongPackage, match="has the checksum"):
            unpack(archive, package, tmp_path / "made")

        assert not (tmp_path / "made").exists()


class TestFetchAll:
    def test_brings_each_package_once(self, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[str] = []

        def download(package: Package, place: Path) -> Path:
            asked.append(package["name"])
            return archive

        packages = [{**describe(archive), "files": {"font.woff": "font.woff"}}]
        (tmp_path / "packages.json").write_text(json.dumps(packages))
        monkeypatch.setattr(fetch, "HERE", tmp_path)
        monkeypatch.setattr(fetch, "ASSETS", tmp_path / "assets")
        monkeypatch.setattr(fetch, "_download", download)

        assert fetch_all() == fetch_all() == tmp_path / "assets/bpmn-js"

        assert asked == ["drawn"]
        assert (tmp_path / "assets/bpmn-js/font.woff").read_bytes() == b"\0f"
