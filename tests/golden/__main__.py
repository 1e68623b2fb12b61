"""`python -m tests.golden` compares the golden set with the sources; `--write` writes it anew."""

import json
import sys

from tests.golden.digests import FILE, compute, differences, written


def main() -> int:
    """Exit status 1 where something has other bytes than it had."""
    found = compute()
    if sys.argv[1:] == ["--write"]:
        FILE.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        print(f"{len(found)} cases written to {FILE}")
        return 0
    other = differences(written(), found)
    print("\n".join(other) or f"{len(found)} cases have the bytes that they had")
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
