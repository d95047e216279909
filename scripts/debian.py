# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Debian packages of other machines, with apt's signatures and this machine's mirrors, but none of its state."""


class Packages:
    """run(*command, **options): its output, or it raises; folder: for what is downloaded."""
    def __init__(self, run, folder, architecture):
        for part in ("state/lists/partial", "cache/archives/partial"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        self.run, self.folder = run, folder
        self.options = ["-o", "APT::Architecture=" + architecture, "-o", "APT::Architectures=" + architecture,
                        "-o", "APT::Sandbox::User=root", "-o", "Dir::State=%s/state" % folder,
                        "-o", "Dir::State::status=%s/status" % folder, "-o", "Dir::Cache=%s/cache" % folder]
        # A mirror that is behind with one list may have all that is wanted; if not, the download says so.
        run("sh", "-c", 'apt-get "$@" || true', "apt-get", *self.options, "update", "-q")

    def depends(self, name):
        return self.run("apt-cache", *self.options, "depends", name)

    def download(self, *names):
        for name in names:
            self.run("apt-get", *self.options, "download", name, cwd=self.folder)

    def unpack(self, into):
        for package in self.folder.glob("*.deb"):
            self.run("dpkg", "-x", package, into)
