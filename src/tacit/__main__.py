"""The program: `tacit`, and `python -m tacit` where the folder of programs is not on the path.

Importing the command line takes a moment, in which Ctrl-C should not end in a traceback.
"""

from tacit._util.stopping import on_interrupt

with on_interrupt():
    from tacit.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
