"""tacit helper: the second server of sums over all owners."""

from pathlib import Path
from typing import Annotated

import typer
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit._util.durable import read_or_create
from tacit.cli._options import LogJson, check_port, key_of, log_to_stderr, warn_of_rehearsal
from tacit.cli._output import Screen
from tacit.cli.serve import check_tls
from tacit.mechanisms.streams import seeded
from tacit.service.protocol.handshake import rehearse_only_here
from tacit.sums.protocol import rehearsal_key


def helper(
    campaign: Annotated[
        list[str] | None, typer.Option(help="Key (hex) of a campaign to serve; repeat for more.")
    ] = None,
    state: Annotated[
        Path, typer.Option(help="Folder with the helper's key and what it released.")
    ] = Path("helper"),
    host: Annotated[
        str, typer.Option(help="Address to listen on; off this machine TLS is required.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8444,
    certificate: Annotated[
        Path | None, typer.Option(help="TLS certificate (PEM).", exists=True)
    ] = None,
    key: Annotated[Path | None, typer.Option(help="TLS key (PEM).", exists=True)] = None,
    minimum: Annotated[
        int, typer.Option(help="Owners that a sum needs, whatever the campaign says.", min=1)
    ] = 10,
    rehearsal: Annotated[
        int | None, typer.Option(help="Seed of a rehearsal: reproducible, NOT PRIVATE.")
    ] = None,
    log_json: LogJson = False,
    *,
    screen: Screen,
) -> None:
    """Run the helper of a campaign's sums: add up what is sealed to you, add noise, answer each
    question once.

    Run it only if you are not the coordinator: owners rely on the two not working together. Your
    key is made on first use, in STATE; tell it to owners yourself, they pin it in their policies.
    Without a campaign it only tells its key. Ctrl-C (exit status 130) ends it; what was released
    stays on disk. With --json the document is printed before it serves.

    Example:
        tacit helper --state helper
    """
    check_tls(host, certificate, key)
    for each in campaign or []:
        key_of(each)
    if rehearsal is not None:
        rehearse_only_here(host)
        warn_of_rehearsal()
    check_port(host, port)
    import uvicorn

    from tacit.service.helper.service import Answers, Helper

    log_to_stderr(log_json)
    if rehearsal is None:
        raw = read_or_create(
            state / "sealing.key", lambda: X25519PrivateKey.generate().private_bytes_raw()
        )
        made = Helper(
            X25519PrivateKey.from_private_bytes(raw),
            Answers(state / "released.db"),
            campaign or [],
            minimum,
        )
    else:  # another key and another book: what it says never meets what a helper says
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        book = Answers(state / "rehearsal.db")
        made = Helper(rehearsal_key(), book, campaign or [], minimum, seeded(rehearsal))
    screen.say(f"helper key (owners pin it): {made.public}")
    screen.tell(
        helper_key=made.public,
        address=f"{'http' if certificate is None else 'https'}://{host}:{port}/",
    )
    screen.close()
    config = uvicorn.Config(
        made.app(),
        host=host,
        port=port,
        ssl_certfile=None if certificate is None else str(certificate),
        ssl_keyfile=None if key is None else str(key),
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=32,
        timeout_graceful_shutdown=5,
    )
    try:
        uvicorn.Server(config).run()
    except KeyboardInterrupt:
        screen.stop("what was released stays on disk; the same command goes on from there")
