"""`python -m hookgate` and the `hookgate` command."""

from __future__ import annotations


def main() -> None:
    from hookgate.cli.starting import begin

    begin()
    from hookgate.cli.main import hookgate

    hookgate()


if __name__ == "__main__":
    main()
