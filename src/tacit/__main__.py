"""python -m tacit: the command line, where the folder of programs is not on the path."""

from tacit.cli import main

if __name__ == "__main__":
    main()
