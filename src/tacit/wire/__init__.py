"""What travels and what is kept: canonical bytes of public objects, and signatures over them.

Every room above may import it; it imports `_util` alone.
"""

from tacit.wire.codec import MissingError, WireError, decode, encode, message

__all__ = ["MissingError", "WireError", "decode", "encode", "message"]
