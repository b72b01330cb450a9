"""A store that is not on this machine."""

from babelray.index.local_store import LocalStore


class FarStore(LocalStore):
    """A store whose files are not on this machine, as an object store's; counts what is read from it."""

    def __init__(self, root):
        super().__init__(root)
        self.opened = []

    def local_path(self, path):
        return None

    def open_input(self, path):
        self.opened.append(path)
        return super().open_input(path)
