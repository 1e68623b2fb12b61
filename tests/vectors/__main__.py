"""`python -m tests.vectors` checks the vectors of the wire; `--write` writes them anew."""

import json
import sys

from tests.vectors.checks import FILE, written
from tests.vectors.made import make


def main() -> int:
    found = make()
    if sys.argv[1:] == ["--write"]:
        FILE.write_text(json.dumps(found, indent=1) + "\n")
        print(f"{sum(map(len, found.values()))} cases written to {FILE.name}")
        return 0
    other = [name for name, cases in found.items() if written().get(name) != cases]
    print("\n".join(other) or "every section has the bytes that it had")
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
