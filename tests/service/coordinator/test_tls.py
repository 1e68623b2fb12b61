"""TLS around connections: what it says to itself is counted; whoever says much is hung up on."""

import asyncio
import hmac
import socket
import ssl
import struct
import threading
import time
from contextlib import contextmanager
from hashlib import sha256, sha384

import pytest
from benchmarks.loopback import Authority
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

from tacit.service.protocol.door import ConnectionLimits
from tacit.service.protocol.guard import Guard, Limits
from tacit.service.protocol.serving import Address, BoundedServer

ASK = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
LARGE = 1 << 20
NEW_KEYS = b"\x18\x00\x00\x01\x00" + b"\x16"  # a message of a handshake, after it


async def shown(scope, receive, send):
    if scope["type"] == "http":
        body = (await receive())["body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"%d." % len(body)})


@contextmanager
def served(authority, run):
    here = Address(host="127.0.0.1", port=0, certificate=authority.certificate, key=authority.key)
    guard = Guard(shown, Limits(body=LARGE, looks=1e9))
    with here.listen() as listening:
        server = BoundedServer(guard, here, ConnectionLimits(head=60.0))
        thread = threading.Thread(target=run, args=(server, [listening]), daemon=True)
        thread.start()
        yield listening.getsockname()[1], server
        server.should_exit = True
        thread.join(timeout=20)


def with_uvloop(server, sockets):
    server.run(sockets=sockets)


def with_asyncio(server, sockets):
    asyncio.run(server.serve(sockets=sockets))


@pytest.fixture(scope="module", params=[with_uvloop, with_asyncio])
def there(request, tmp_path_factory):
    with served(Authority.create(tmp_path_factory.mktemp("tls"), "mine"), request.param) as made:
        yield made


@pytest.fixture
def port(there):
    return there[0]


class Caller:
    """A client that has the secret of its own connection, and writes records by itself."""

    def __init__(self, port, folder):
        trust = ssl.create_default_context()
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        trust.minimum_version = ssl.TLSVersion.TLSv1_3
        trust.keylog_filename = str(folder / "secrets")
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = trust.wrap_bio(self._in, self._out)
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.socket.sendall(self._out.read())
                self._in.write(self.socket.recv(1 << 16))
        self.socket.sendall(self._out.read())
        cipher = self._tls.cipher()[0]
        self._hash = sha384 if "384" in cipher else sha256
        self._seal = ChaCha20Poly1305 if "CHACHA" in cipher else AESGCM
        self._key_size = 16 if "128" in cipher else 32
        lines = [line.split() for line in (folder / "secrets").read_text().splitlines()]
        self._secret = bytes.fromhex(
            [line[2] for line in lines if line[0] == "CLIENT_TRAFFIC_SECRET_0"][-1]
        )
        self._sent = 0

    def _derive(self, label, size):
        name = b"tls13 " + label
        said = struct.pack(">HB", size, len(name)) + name + b"\x00\x01"
        return hmac.new(self._secret, said, self._hash).digest()[:size]

    def record(self, inner):
        """One record with this inside (its last byte is its kind)."""
        head = b"\x17\x03\x03" + struct.pack(">H", len(inner) + 16)
        pad = struct.pack(">4xQ", self._sent)
        nonce = bytes(a ^ b for a, b in zip(self._derive(b"iv", 12), pad, strict=True))
        self._sent += 1
        return head + self._seal(self._derive(b"key", self._key_size)).encrypt(nonce, inner, head)

    def new_keys(self):
        """The record that says that there are new ones, which are used from then on."""
        made = self.record(NEW_KEYS)
        self._secret, self._sent = self._derive(b"traffic upd", self._hash().digest_size), 0
        return made

    def said(self, data):
        return self.record(data + b"\x17")

    def hear(self):
        """What is said to a request; what has no end: it was hung up on."""
        said = b""
        while not said.endswith(b".\r\n0\r\n\r\n"):
            try:
                more = self._tls.read(1 << 16)
                if not more:
                    return b""
                said += more
            except ssl.SSLWantReadError:
                try:
                    piece = self.socket.recv(1 << 16)
                except ConnectionError:
                    piece = b""
                if not piece:
                    return b""
                self._in.write(piece)
        return said


@pytest.fixture
def call(port, tmp_path):
    made = Caller(port, tmp_path)
    yield made
    made.socket.close()


def test_new_keys_again_and_again_are_not_listened_to(port, call, tmp_path):
    """Each took ten microseconds for twenty-seven bytes, and there was no end to them: forty
    kilobytes on each of twenty connections kept all others waiting for half a second.
    """
    call.socket.sendall(call.new_keys() + call.said(ASK))
    assert call.hear().startswith(b"HTTP/1.1 200 OK")
    try:
        call.socket.sendall(b"".join(call.new_keys() for _ in range(400)) + call.said(ASK))
        answer = call.hear()
    except ConnectionError:
        answer = b""
    assert answer == b""
    again = Caller(port, tmp_path)
    again.socket.sendall(again.said(ASK))
    assert again.hear().startswith(b"HTTP/1.1 200 OK")
    again.socket.close()


def test_new_keys_between_words_are_not_without_end_either(call):
    try:
        call.socket.sendall(call.said(ASK[:-2] + b"x: "))
        for _ in range(150):
            call.socket.sendall(b"".join(call.new_keys() for _ in range(8)) + call.said(b"y"))
            time.sleep(0.001)
        call.socket.sendall(call.said(b"\r\n\r\n"))
        answer = call.hear()
    except ConnectionError:
        answer = b""
    assert answer == b""


def test_who_sends_much_in_many_records_is_listened_to(call):
    head = f"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {LARGE}\r\n\r\n".encode()
    for line in head.splitlines(keepends=True):
        call.socket.sendall(call.said(line))
    for _ in range(LARGE >> 10):
        call.socket.sendall(call.said(bytes(1 << 10)))
    answer = call.hear()
    assert answer.startswith(b"HTTP/1.1 200 OK")
    for _ in range(300):  # and goes on, with keys that are replaced now and then
        call.socket.sendall(call.new_keys() + call.said(ASK))
        assert b"HTTP/1.1 200 OK" in call.hear()


def test_records_are_counted_however_they_are_cut(call):
    sent = call.said(ASK[:5]) + call.new_keys() + call.said(ASK[5:])
    for at in range(len(sent)):
        call.socket.sendall(sent[at : at + 1])
    assert call.hear().startswith(b"HTTP/1.1 200 OK")


def test_a_handshake_in_crumbs_is_hung_up_on_and_nothing_stays_of_it(there):
    port, server = there
    with socket.create_connection(("127.0.0.1", port), timeout=60) as stranger:
        hello = b"\x01\x00\x40\x00\x03\x03" + bytes(400)
        sent = b"".join(b"\x16\x03\x01\x00\x01" + hello[at : at + 1] for at in range(400))
        try:
            stranger.sendall(sent)
            assert stranger.recv(100) == b""
        except ConnectionError:
            pass
        until = time.monotonic() + 60
        while server.servers[0]._visitors and time.monotonic() < until:
            time.sleep(0.05)
        assert not server.servers[0]._visitors
