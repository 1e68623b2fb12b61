"""The high half of a product of two 64-bit words: one machine instruction, which numba does not offer by itself."""

from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _high_half(_: Any, a: Any, b: Any) -> tuple[Any, Any]:
    def emit(_context: Any, build: Any, _signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = build.mul(build.zext(arguments[0], wide), build.zext(arguments[1], wide))
        return build.trunc(build.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), emit


high_half = cast(Any, intrinsic)(_high_half)
