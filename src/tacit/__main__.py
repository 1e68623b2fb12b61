"""The program: `tacit`, and `python -m tacit` where the folder of programs is not on the path."""

from tacit.program import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
