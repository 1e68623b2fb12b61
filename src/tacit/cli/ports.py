"""Ports to listen on, checked before a service says where it is."""

import socket


def checked_port(host: str, port: int) -> None:
    """Refuse a port that is taken, before anything is said of it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        several = hasattr(socket, "SO_REUSEPORT")  # workers share a port with those they replace
        socket.create_server((host, port), family=family, reuse_port=several).close()
    except (OSError, OverflowError) as problem:
        why = getattr(problem, "strerror", None) or problem
        raise ValueError(f"cannot listen on {host}, port {port} ({why}): choose another --port or --host") from None
