"""What travels and what is kept: canonical bytes of public objects, and signatures over them."""

from tacit.wire.codec import decode, encode
from tacit.wire.registry import WireError, message

__all__ = ["WireError", "decode", "encode", "message"]
