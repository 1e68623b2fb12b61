"""The program: `tacit`, and `python -m tacit` where the folder of programs is not on the path."""

from tacit._util.stopping import on_interrupt


def main() -> None:
    """Run the command line, whose import takes a moment in which Ctrl-C should not end in a
    traceback.
    """
    with on_interrupt():
        from tacit.cli import main as run
    run()


if __name__ == "__main__":
    main()
