from pathlib import Path
from typing import Any

import pytest

from config.runtime import static
from config.runtime.static import collect_static


class TestCollectStatic:
    @pytest.fixture
    def assets(self, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A small product: one folder of its own files, and none of an app."""
        folder = tmp_path / "assets"
        folder.mkdir()
        (folder / "a.css").write_text("a { color: red }")
        (tmp_path / "requirements.txt").write_text("django\n")
        settings.BASE_DIR, settings.DATA_DIR = tmp_path, tmp_path
        settings.STATIC_ROOT, settings.STATICFILES_DIRS = tmp_path / "static", [folder]
        settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
        backend = "django.contrib.staticfiles.storage.ManifestStaticFilesStorage"
        settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": backend}}
        return folder

    def test_collects_under_hashed_names_once(self, assets: Path, settings: Any) -> None:
        assert (collect_static(), collect_static()) == (True, False)
        assert len(list(settings.STATIC_ROOT.glob("a.*.css"))) == 1

    def test_collects_again_when_a_file_has_changed(self, assets: Path) -> None:
        collect_static()
        (assets / "a.css").write_text("a { color: blue; }")
        assert collect_static() is True

    def test_collects_again_when_the_packages_have_changed(self, assets: Path) -> None:
        collect_static()
        (assets.parent / "requirements.txt").write_text("django==9\n")
        assert collect_static() is True

    def test_collects_again_after_it_was_interrupted(self, assets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def die(*arguments: Any, **options: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as broken:
            broken.setattr(static, "call_command", die)
            with pytest.raises(KeyboardInterrupt):
                collect_static()
        assert collect_static() is True
