"""tacit invite: a kit for each who is to take part, one file with all that joining needs.

A kit names the address and pins the campaign's key and the certificate behind the address; it holds
one-time tokens, and the draft of a policy that allows what the campaign asks and nothing else. It
decides nothing: `tacit join KIT --dry-run` writes the draft beside the kit, for its owner to read
and change, and joining takes the policy that lies there. A second server's key is in the draft as a
remark only: whoever runs it must have told the same, or one party could be both.
"""

import json
import re
import ssl
import tomllib
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from math import ceil
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit._util.checks import bad
from tacit._util.file_checks import check_file
from tacit._util.stopping import read_or_create
from tacit.cli._kit_files import UNFINISHED, alone_with, draft_of, drafts, find_kept, finish
from tacit.cli._options import key_of
from tacit.cli._output import Screen
from tacit.mechanisms.streams import rational
from tacit.owner.template import Template
from tacit.service.device.client import Link
from tacit.service.protocol.handshake import check_url

SUFFIX = ".kit"
_NAME = re.compile(r"[\w][\w .-]{0,99}")
_LONGEST_NAME = 200
_ENTRIES = {"campaign", "name", "url", "campaign_key", "certificates", "tokens", "policy"}
_LISTS = {"certificates", "tokens"}
_STEPS = """\
# An invitation for {name} to the campaign {campaign}. The token in it is secret: pass it to nobody.
# 1. See what would leave:  tacit join {file} --data YOUR_TABLE --dry-run
# 2. Read {policy}, which that wrote, and change what you like: it alone says what may leave.
# 3. Take part:  tacit join {file} --data YOUR_TABLE
"""


@dataclass(frozen=True)
class Kit:
    """What one who is invited gets; `certificates` are SHA-256 fingerprints (hex) of those that
    the address may show, none: those that the machine trusts.
    """

    campaign: str
    name: str
    url: str
    campaign_key: bytes
    certificates: tuple[bytes, ...]
    tokens: tuple[str, ...]
    policy: str

    def text(self, file: Path) -> str:
        """The content of its file, which begins with what to do."""
        entries = {
            "campaign": self.campaign,
            "name": self.name,
            "url": self.url,
            "campaign_key": self.campaign_key.hex(),
            "certificates": [each.hex() for each in self.certificates],
            "tokens": list(self.tokens),
            "policy": self.policy,
        }
        steps = _STEPS.format(
            name=self.name,
            campaign=self.campaign,
            file=_quote(file.name),
            policy=policy_beside(file).name,
        )
        return steps + "".join(f"{name} = {_toml(value)}\n" for name, value in entries.items())

    @classmethod
    def read(cls, file: Path) -> "Kit":
        if not file.exists():
            raise ValueError(
                f"{file} is not there: give the file that tacit invite made, or the coordinator's "
                "address, https://host:port"
            )
        try:
            found = tomllib.loads(file.read_text(encoding="utf-8-sig"))
        except (OSError, ValueError, RecursionError) as problem:
            raise ValueError(
                f"{file} is no kit ({problem}): give the file that tacit invite made, or the "
                "coordinator's address, https://host:port"
            ) from None
        if set(found) != _ENTRIES or not all(_is_sound(*entry) for entry in found.items()):
            raise ValueError(
                f"{file} is no kit: it must have the texts {sorted(_ENTRIES - _LISTS)}, and lists "
                f"of texts {sorted(_LISTS)}"
            )
        return cls(
            found["campaign"],
            found["name"],
            check_url("url", found["url"]),
            campaign_key=key_of(found["campaign_key"], "campaign_key"),
            certificates=tuple(key_of(each, "certificates") for each in found["certificates"]),
            tokens=tuple(found["tokens"]),
            policy=found["policy"],
        )

    def find_policy(self, file: Path, draft: bool) -> Path:
        """The policy beside the kit's file; the `draft` is written there if there is none."""
        beside = policy_beside(file)
        if draft:
            read_or_create(beside, self.policy.encode)
        elif not beside.exists():
            raise ValueError(
                f"no policy says yet what may leave: tacit join {_quote(str(file))} ... --dry-run "
                f"writes a draft to {beside} for you to read, or give --policy FILE"
            )
        return beside


def policy_beside(file: Path) -> Path:
    """Where the policy of whoever has this kit is."""
    return file.with_name(f"{file.stem}.policy.toml")


@dataclass(frozen=True)
class Way:
    """How to reach a campaign, and what a kit says of it: `url`, the key to pin, whom to trust."""

    url: str
    key: bytes | None
    authority: Path | None
    patience: float
    file: Path | None = None
    kit: Kit | None = None

    @classmethod
    def to(cls, where: str, key: bytes | None, authority: Path | None, patience: float) -> "Way":
        """To an address, or to where a kit leads; what was typed counts more than the kit."""
        if not patience >= 0:
            raise bad("patience", "0 or more seconds", patience)
        if "://" in where:
            return cls(where, key, authority, patience)
        file = Path(where)
        if file.suffix == UNFINISHED and file.exists():
            raise ValueError(
                f"{file} is no kit yet: the tacit invite that made it was stopped, and its tokens "
                "may be unknown; whoever made it gives the same command again"
            )
        kit = Kit.read(file)
        return cls(
            kit.url, key or kit.campaign_key, authority, patience=patience, file=file, kit=kit
        )

    @property
    def name(self) -> str | None:
        return None if self.kit is None else self.kit.name

    @property
    def tokens(self) -> list[str]:
        return [] if self.kit is None else list(self.kit.tokens)

    def find_policy(self, given: Path | None, draft: bool) -> Path:
        """The policy that was given, else that of the kit, as its owner has it."""
        if given is not None:
            return given
        if self.kit is None or self.file is None:
            raise ValueError("policy must be given: --policy FILE says what may leave")
        return self.kit.find_policy(self.file, draft)

    def link(self) -> Link:
        pins = self.kit.certificates if self.kit is not None and self.authority is None else ()
        return Link.to(self.url, self.authority, self.patience, pins)


def draft_policy(template: Template, helper: bytes | None) -> str:
    """The least policy that allows what a template may ask; a `helper` is left to its owner."""
    queries = [form.example for form in template.forms]
    most = max(rational(form.most) for form in template.forms)
    total = sum(
        (
            form.times * rational(form.most) if form.total is None else rational(form.total)
            for form in template.forms
        ),
        Fraction(0),
    )
    entries = {
        "campaign": template.campaign,
        "epsilon_per_release": _decimal(most),
        "epsilon_total": _decimal(total),
        "delta_total": _decimal(max(rational(query.delta) for query in queries)),
        "releases": sum(form.times for form in template.forms),
        "columns": list(template.columns),
        "labels": [template.label],
        "learners": sorted({query.what for query in queries}),
        "mechanisms": sorted({query.how for query in queries}),
        "units": sorted({query.unit for query in queries}),
    }
    lines = [f"{name} = {_toml(value)}" for name, value in entries.items()]
    if helper is not None:
        lines += [
            "# Compare this key with what whoever runs the second server tells you, then remove",
            "# the first character of the next line: without it you take part in no sum.",
            f'#helper = "{helper.hex()}"',
        ]
    return "\n".join(["# What may leave, and nothing else: a draft, yours to change.", *lines, ""])


def invite(
    names: Annotated[list[str], typer.Argument(help="Whom: a name for each kit.")],
    url: Annotated[str, typer.Option(help="Where they reach the coordinator, https://host:port.")],
    database: Annotated[
        str, typer.Option(help="sqlite:///FILE or postgresql://...", envvar="TACIT_DATABASE")
    ] = "sqlite:///campaign.db",
    campaign: Annotated[
        str, typer.Option(help="Of a database with several campaigns: which, by its file's name.")
    ] = "",
    certificate: Annotated[
        list[Path] | None,
        typer.Option(help="The certificate behind the address (PEM), to pin; repeat for its next."),
    ] = None,
    owners: Annotated[
        int, typer.Option(help="Tokens in each kit: as many as a gateway has owners.", min=1)
    ] = 1,
    days: Annotated[
        float | None, typer.Option(help="Tokens expire after so many days.", min=0)
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder that the kits go to.")] = Path("kits"),
    *,
    screen: Screen,
) -> None:
    """Make a kit for each who is to take part: address, pins, token, the draft of a policy, and
    three lines that say what to do. tacit join takes it in place of an address.

    The campaign must have been begun: its database says what it asks. A kit is a secret until it
    is used: pass it on by a way that others do not read.

    Example:
        tacit invite north south --url https://localhost:8443 --certificate server.pem
    """
    from tacit.cli.admin import expiry, find_campaign
    from tacit.service.coordinator.records import INVITE, OPERATOR, WITHDRAW, Records
    from tacit.service.kinds import read_terms

    address = check_url("url", url)
    pins = tuple(fingerprint(each) for each in certificate or ())
    until = expiry(days)
    if len(set(names)) < len(names):
        raise bad("names", "all different: a kit is for one", " ".join(names))
    files = [out / f"{_check_name(name)}{SUFFIX}" for name in names]
    store = find_campaign(database, campaign)
    records = Records(store)
    with alone_with(out):
        kept = find_kept(files)
        left = [file for file in files if file not in kept]
        stopped = [token for file in left for token in _tokens_of(draft_of(file))]
        with drafts() as put, store.transaction():
            standing = store.standing()
            terms = read_terms(standing.terms)
            helper = None if terms.servers is None else terms.servers[1]
            policy = draft_policy(terms.template(), helper)
            gone = sum(map(records.withdraw_tokens, sorted(map(store.hide, stopped))))
            if gone:
                records.note_command(WITHDRAW, f"{gone} tokens")
            for file in left:
                tokens = tuple(store.make_tokens(owners, expires=until, maker=OPERATOR))
                kit = Kit(
                    terms.name,
                    file.stem,
                    find_place(address, store.place),
                    campaign_key=standing.key,
                    certificates=pins,
                    tokens=tokens,
                    policy=policy,
                )
                put(file, kit.text(file).encode())
                records.note_command(INVITE, f"{file.stem}, {owners} tokens")
        finish(left)
    screen.tell(kits=files, campaign_key=standing.key.hex())
    for file in files:
        was_there = " (made before, by a command that was stopped)" if file in kept else ""
        screen.say(f"{file}{was_there}: for {file.stem} alone, by a way that others do not read")


def _tokens_of(draft: Path) -> tuple[str, ...]:
    """The tokens of a kit that was not put in place."""
    try:
        return Kit.read(draft).tokens
    except ValueError:
        return ()  # there is none, or somebody has changed it


def find_place(address: str, place: str) -> str:
    """Where a campaign is that shares an address with others, whichever of the two is given.

    >>> find_place("https://host:8443", "/campaigns/trial")
    'https://host:8443/campaigns/trial'
    >>> find_place("https://host:8443/campaigns/trial/", "/campaigns/trial")
    'https://host:8443/campaigns/trial'
    """
    bare = address.rstrip("/")
    return bare if bare.endswith(place) else bare + place


def fingerprint(certificate: Path) -> bytes:
    """What tells a certificate (PEM) from all others."""
    check_file(certificate, "a certificate (PEM)")
    try:
        return sha256(ssl.PEM_cert_to_DER_cert(_first(certificate.read_text()))).digest()
    except ValueError as problem:
        raise ValueError(f"{certificate} must hold a certificate (PEM): {problem}") from None


def _first(text: str) -> str:
    """The first certificate of a file: that of the server, where others follow."""
    return text.partition("-----END CERTIFICATE-----")[0].lstrip() + "-----END CERTIFICATE-----\n"


def _check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"name must be letters, digits, space, '.', '_' or '-', got {name!r}")
    if len(name.encode()) > _LONGEST_NAME:
        raise bad("name", f"at most {_LONGEST_NAME} bytes, of which a file has a name", name)
    return name


def _is_sound(name: str, value: Any) -> bool:
    """Whether an entry of a kit is of its kind; but for the policy, nothing has odd characters."""
    values = value if name in _LISTS and isinstance(value, list) else [value]
    texts = isinstance(value, list) == (name in _LISTS) and all(
        isinstance(each, str) for each in values
    )
    return texts and (name == "policy" or all(each.isprintable() for each in values))


def _quote(name: str) -> str:
    return f"'{name}'" if " " in name else name


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _decimal(value: Fraction) -> str:
    """At least the value, in nine decimals, exactly."""
    scaled = ceil(value * 10**9)
    return f"{scaled // 10**9}.{scaled % 10**9:09d}".rstrip("0").rstrip(".")
