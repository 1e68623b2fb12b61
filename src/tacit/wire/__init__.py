"""What travels and what is kept: canonical bytes of public objects, and signatures over them."""

from tacit.wire.decoding import decode
from tacit.wire.encoding import WireError, encode, message

__all__ = ["WireError", "decode", "encode", "message"]
