"""Libraries' own threads held back for a while: for steps too small for them, whose threads wait on
each other, one takes a tenth of the time.
"""

import sys
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController  # a dependency of scikit-learn

_BRINGERS = ("scipy.linalg", "sklearn")  # packages with threads of their own, beside NumPy's


def one_thread() -> AbstractContextManager[Any]:
    """Within it, products of matrices and fits of scikit-learn have one thread."""
    libraries = _libraries(tuple(name in sys.modules for name in _BRINGERS))
    within: AbstractContextManager[Any] = libraries.limit(limits=1)
    return within


@cache
def _libraries(loaded: tuple[bool, ...]) -> ThreadpoolController:
    """Those of this process. To look for them is to look through all that it has loaded, which
    takes longer than a small fit: once, and again when more may have come.
    """
    return ThreadpoolController()
