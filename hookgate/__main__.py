"""`python -m hookgate` and the `hookgate` command."""

from __future__ import annotations


def main() -> None:
    try:
        from hookgate.program.starting import begin

        begin()
        from hookgate.cli.main import hookgate

        hookgate()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
