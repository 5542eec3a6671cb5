from tests.processes.exchange.conftest import _own_folders, scene

__all__ = ["_own_folders", "scene"]
