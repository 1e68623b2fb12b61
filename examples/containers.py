"""What the trial of compose.yaml needs before it begins, in one folder: certificates for loopback
and the names of its services, made-up tables, a campaign with a helper, and policies.

    python examples/containers.py FOLDER

It makes the keys of coordinator and helper, too, because a campaign file names the helper's and the
helper serves campaigns by their key. In earnest two parties do that, who tell each other.
"""

import csv
import sys
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import numpy as np
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tacit.service.protocol.succession import CAMPAIGN, HELPER, KeyRing

SERVICES = ("coordinator", "helper")
SITES, OWNERS = ("north", "south"), 12  # gateways, and owners behind each
TOML = """\
kind = "boosting"
name = "a trial in containers"
sample = "mine.csv"
label = "ill"
learner = "centroid"
trust = "two servers"
epsilon = 8.0
rounds = 1
attempts = 1
owners_per_round = 20
start = {start}
deadline = 600
helper = "https://helper:8444"
helper_key = "{helper}"
helper_ca = "services.pem"
"""
POLICY = """\
epsilon_per_release = 8
epsilon_total = 8
delta_total = "0.000001"
helper = "{helper}"
"""


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "campaign.toml").exists():
        return  # begun before: nothing may change
    certify(folder)
    helper = KeyRing.at(folder / "helper", HELPER).line.first.hex()
    campaign = KeyRing.at(folder / "coordinator", CAMPAIGN).line.first.hex()
    (folder / "helper" / "campaign").write_text(campaign)
    (folder / "policy.toml").write_text(POLICY.format(helper=helper))
    write_rows(folder / "mine.csv", 200, seed=1, column=None)
    for seed, site in enumerate(SITES, 2):
        write_rows(folder / f"{site}.csv", 8 * OWNERS, seed, site)
    text = TOML.format(start=OWNERS * len(SITES), helper=helper)
    (folder / "campaign.toml").write_text(text)


def certify(folder: Path) -> None:
    """One certificate for both services, which vouches for itself, good for a month."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.now(UTC)
    hosts = [x509.DNSName(each) for each in (*SERVICES, "localhost")]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(
            x509.SubjectAlternativeName([*hosts, x509.IPAddress(ip_address("127.0.0.1"))]),
            critical=True,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, SHA256())
    )
    (folder / "services.pem").write_bytes(made.public_bytes(Encoding.PEM))
    (folder / "services.key").touch(0o600)
    (folder / "services.key").write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )


def write_rows(file: Path, rows: int, seed: int, column: str | None) -> None:
    """Made-up people; `column` says whose they are, eight rows each."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3))
    ill = np.where(x[:, 0] + x[:, 1] / 2 > 0, "yes", "no")
    with file.open("w", newline="") as opened:
        lines = csv.writer(opened)
        lines.writerow(["a", "b", "c", "ill", *(["who"] if column else [])])
        for i, (values, label) in enumerate(zip(x.round(4).tolist(), ill.tolist(), strict=True)):
            lines.writerow([*values, label, *([f"{column} {i // 8}"] if column else [])])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
