"""`om`: the command line. One module a command group, loaded on use; `om --help` loads click and nothing slow."""


def main() -> None:
    """The console scripts `om` and `minutebook`."""
    from minutebook.cli.root import om

    om(prog_name="om")
