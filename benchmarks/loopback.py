"""A service on this machine's loopback, with or without TLS by an authority made for the
occasion.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from starlette.types import ASGIApp

from tacit.service.protocol.door import ConnectionLimits
from tacit.service.protocol.serving import Address, BoundedServer


@dataclass(frozen=True)
class Authority:
    """A certificate for 127.0.0.1 that trusts itself, and its key, as files."""

    certificate: Path
    key: Path

    @classmethod
    def create(cls, folder: Path, name: str) -> "Authority":
        """A new one; another of another name is a stranger to it."""
        key = generate_private_key(SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        now = datetime.now(UTC)
        built = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]),
                critical=False,
            )
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(key, SHA256())
        )
        paths = cls(folder / f"{name}.pem", folder / f"{name}.key")
        paths.certificate.write_bytes(built.public_bytes(Encoding.PEM))
        paths.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return paths


@contextmanager
def serve(
    app: ASGIApp,
    authority: Authority | None = None,
    limits: ConnectionLimits = ConnectionLimits(),  # noqa: B008 - frozen
    host: str = "127.0.0.1",
) -> Iterator[str]:
    """Run an application in a thread, as `tacit serve` does; its address."""
    here = Address(
        host=host,
        port=0,
        certificate=None if authority is None else authority.certificate,
        key=None if authority is None else authority.key,
    )
    with here.listen() as listening:
        server = BoundedServer(app, here, limits)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            scheme = "http" if authority is None else "https"
            name = f"[{host}]" if ":" in host else host
            yield f"{scheme}://{name}:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=20)
