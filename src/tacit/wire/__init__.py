"""What travels and what is kept: canonical bytes of public objects, and signatures over them."""

from tacit.wire.codec import MissingError, WireError, decode, encode, message

__all__ = ["MissingError", "WireError", "decode", "encode", "message"]
