"""A person's home: one identity, one ledger for all campaigns, and one pin for each campaign.

    home/identity             the secret that every key and every owner's number comes from
    home/ledger.db            what was released, to whom, for how much, in all campaigns
    home/guards               further places of the ledger's mark, one path in a line (optional)
    home/owners               "one owner", or the column that names a gateway's owners
    home/pins/KEY             the address at which the campaign with this key was joined
    home/pins/KEY.template    what the campaign may ask, as it was agreed to
    home/pins/KEY.keys        what the campaign has said of its keys since
    home/pins/KEY.signing     the secret that signing keys come from, where they were replaced
    home/pins/KEY.identity    the secret and name of a folder that was moved here (optional)
    home/peers/KEY/           what a peer took in, and the model of its own

Claim: who an owner is depends on the identity and on what the rows say, never on the name of a file
or folder, on the file's format, or on the campaign; so one budget covers all that it ever releases.
A gateway's owners are known by a keyed digest of the value that names them: no value is written
down. The ledger's mark lies apart, in the user's state folder, under a name made of the identity: a
home that was put back or copied is noticed. An identity without its ledger is refused, and so is
the other way round. Edge: whoever begins a home elsewhere on purpose begins another budget.
"""

import hashlib
import hmac
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tacit._util.stopping import read_or_create, replace_file
from tacit.data.owner_names import owner_name
from tacit.owner.ledger import Book, Ledger, LedgerError
from tacit.owner.ledger_entries import Entry
from tacit.owner.ledger_marks import state_folder
from tacit.service.protocol.succession import Successions, read_successions
from tacit.wire import encode
from tacit.wire.envelopes import KEY

SECRET = 32  # bytes


_DIGITS = 32  # of an owner's digest


@dataclass(frozen=True)
class Identity:
    """The secret of a home."""

    secret: bytes = field(repr=False)

    @classmethod
    def at(cls, folder: Path) -> "Identity":
        """The identity kept in a folder; made on first use, readable by its user alone."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        secret = read_or_create(folder / "identity", lambda: os.urandom(SECRET))
        if len(secret) != SECRET:
            raise ValueError(
                f"{folder / 'identity'} must hold {SECRET} bytes, got {len(secret)}: damaged?"
            )
        return cls(secret)

    def key(self, name: bytes) -> Ed25519PrivateKey:
        """The signing key that goes by a name."""
        return Ed25519PrivateKey.from_private_bytes(self._derive(b"tacit owner " + name))

    def digest(self, value: str) -> str:
        """What stands for a value: the same for the same value, and nothing to anybody else."""
        keyed = hmac.new(self._derive(b"tacit digest"), value.encode(), "sha256")
        return keyed.hexdigest()[:_DIGITS]

    def _derive(self, info: bytes) -> bytes:
        return HKDF(SHA256(), SECRET, salt=None, info=info).derive(self.secret)


ONE = "one owner"  # in home/owners; and the name of that owner in the ledger is:
ME = "me"
_SIGNATURE = 64  # bytes that a signed template begins with


def default_home() -> Path:
    """The folder `tacit` in the user's data folder."""
    base = os.environ.get("XDG_DATA_HOME", "")
    return (Path(base) if base else Path.home() / ".local" / "share") / "tacit"


@dataclass(frozen=True)
class Home:
    """A home that is open."""

    folder: Path
    identity: Identity
    ledger: Ledger

    @classmethod
    def at(cls, folder: Path, guards: Sequence[Path] = ()) -> "Home":
        """The home in a folder, made on first use; `guards` are added to those it has."""
        record = state_folder() / f"{_hash(str(folder.absolute()))}.home"
        secret, ledger = folder / "identity", folder / "ledger.db"
        if (secret.exists() and not ledger.exists()) or (record.exists() and not secret.exists()):
            lost = "ledger.db" if secret.exists() else "identity"
            raise LedgerError(
                f"home {folder} has lost its {lost}, and with it what was spent: put the latest "
                f"{lost} back; to begin another budget on purpose give another --home"
            )
        if (folder / "campaign.key").exists():
            raise LedgerError(
                f"{folder} is a folder of before there were homes: move it into one with tacit "
                f"ledger adopt {folder} --home HOME"
            )
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as problem:
            raise ValueError(
                f"home must be a folder, and {folder} cannot be one ({problem.strerror}): give "
                "another --home"
            ) from None
        also = _guards(folder, guards)
        # the identity comes last: a kill before leaves a ledger that nothing was released from
        begun = secret.exists()
        identity = Identity.at(folder) if begun else Identity(os.urandom(SECRET))
        opened = Ledger(ledger, guard_of(identity), also, begun=begun)
        if read_or_create(secret, lambda: identity.secret) != identity.secret:
            raise LedgerError(f"home {folder} is being made by another process: try again")
        read_or_create(record, lambda: str(folder.absolute()).encode())
        return cls(folder, identity, opened)

    def owner(self, value: str | None) -> str:
        """The name in the ledger of the owner whom rows name so (None: the only one)."""
        return ME if value is None else self.identity.digest(value)

    def key(self, campaign: bytes, value: str | None, following: bool = False) -> Ed25519PrivateKey:
        """The signing key of an owner in one campaign: keys of two campaigns show no connection.
        Where it was replaced, or is to be (`following`), it comes from another secret; owners'
        names in the ledger do not.
        """
        name = f"{ONE}\n" if value is None else f"owner\n{value}"
        if following:
            secret = read_or_create(self._pin(campaign, ".next"), lambda: os.urandom(SECRET))
            return Identity(secret).key(campaign + name.encode())
        renewed = self._pin(campaign, ".signing")
        if renewed.exists():
            return Identity(renewed.read_bytes()).key(campaign + name.encode())
        moved = self.moved_identity(campaign)
        if moved.exists():
            content = moved.read_bytes()
            called = content[SECRET:].decode() if value is None else value
            return Identity(content[:SECRET]).key(called.encode())
        return self.identity.key(campaign + name.encode())

    def settle(self, column: str | None) -> None:
        """Refuse owners of another kind than those the home is for: they would have other
        budgets. One from which nothing was released, and which has joined nothing, is for whom it
        is said to be: a dry run that left the owners out binds nobody.
        """
        wanted, file = ONE if column is None else f"column {column}", self.folder / "owners"
        known = read_or_create(file, lambda: wanted.encode()).decode()
        if known == wanted:
            return
        if any((self.folder / "pins").glob("*")) or self.ledger.entries():
            raise ValueError(
                f"the home {self.folder} is for {known}, not for {wanted}: give another --home; "
                f"if a column was only renamed, write {wanted!r} into {file}"
            )
        replace_file(file, wanted.encode())

    def check_named(self, owner: str | None) -> None:
        """Refuse to speak for one owner where there are several, or the other way round."""
        file = self.folder / "owners"
        known = file.read_text() if file.exists() else ONE
        if known != ONE and owner is None:
            raise ValueError(f"the home {self.folder} is for {known}: say who, --owner NAME")
        if known == ONE and owner is not None:
            raise ValueError(f"the home {self.folder} is for {ONE}: leave out --owner")

    def check(self, campaign: bytes, address: str, pinned: bytes | None) -> None:
        """Refuse a campaign that answers where another was joined before, unless its key was
        `pinned` by hand.
        """
        if pinned is not None or self._pin(campaign).exists():
            return
        for pin in (self.folder / "pins").glob("[0-9a-f]*"):
            if len(pin.name) == 2 * KEY and pin.read_text() == address:
                raise ValueError(
                    f"the campaign's key is {campaign.hex()}, but {pin.name} is pinned: another "
                    f"campaign? to join it as well: --campaign-key {campaign.hex()}"
                )

    def check_template(self, campaign: bytes, template: bytes) -> None:
        """Refuse a campaign that would ask for something else than when it was joined."""
        pinned = self._pin(campaign, ".template")
        # a key that was replaced signed the same
        if pinned.exists() and pinned.read_bytes()[_SIGNATURE:] != template[_SIGNATURE:]:
            raise ValueError(
                "the campaign would ask for something else than what you agreed to when you "
                f"joined; nothing was sent (what you agreed to: {pinned})"
            )

    def check_keys(self, campaign: bytes, said: Successions) -> None:
        """Refuse a campaign whose keys do not go on from those that were seen of it."""
        if not said.follows(read_successions(self._pin(campaign, ".keys"))):
            raise ValueError(
                "the campaign goes by a key that does not come from the last one seen of it: a key "
                "that was replaced may have been stolen; nothing was sent"
            )

    def keep_keys(self, campaign: bytes, said: Successions) -> None:
        """Remember what a campaign has said of its keys."""
        if said != Successions():
            replace_file(self._pin(campaign, ".keys"), encode(said))

    def renew_key(self, campaign: bytes) -> None:
        """Use from now on the keys that were `following`."""
        os.replace(self._pin(campaign, ".next"), self._pin(campaign, ".signing"))

    def pin(self, campaign: bytes, address: str, template: bytes = b"") -> None:
        """Remember the campaign that was joined at an address, and what it may ask."""
        if template:
            read_or_create(self._pin(campaign, ".template"), lambda: template)
        read_or_create(self._pin(campaign), lambda: address.encode())

    def has_joined(self, campaign: bytes) -> bool:
        return self._pin(campaign).exists()

    def moved_identity(self, campaign: bytes) -> Path:
        """The file with the secret of a folder that was moved here, good in this campaign."""
        return self._pin(campaign, ".identity")

    def peers(self, campaign: bytes) -> Path:
        """The folder of what a peer keeps of a campaign."""
        return self.folder / "peers" / campaign.hex()

    def _pin(self, campaign: bytes, more: str = "") -> Path:
        return self.folder / "pins" / f"{campaign.hex()}{more}"


def guard_of(identity: Identity) -> Path:
    """Where the mark of this identity's ledger is kept."""
    return state_folder() / f"{identity.digest('guard')}.mark"


def guards_of(folder: Path) -> list[Path]:
    """Further places of the mark, as the home knows them."""
    listed = folder / "guards"
    return [Path(line) for line in listed.read_text().splitlines()] if listed.exists() else []


def _guards(folder: Path, more: Sequence[Path]) -> list[Path]:
    """Those that are known, and new ones written down."""
    known = guards_of(folder)
    new = [path.absolute() for path in more if path.absolute() not in known]
    if new:
        with (folder / "guards").open("a", encoding="utf-8") as file:
            file.writelines(f"{path}\n" for path in new)
    return [*known, *new]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


_DONE = "adopted."  # what the names of files begin with that were moved


def adopt_folder(old: Path, home: Home, column: str | None) -> int:
    """Move the releases, keys and files of an old folder; `column` says that a gateway used it.

    How many releases there were.
    """
    done = "" if (old / "ledger.db").exists() else _DONE
    file, mark = old / f"{done}ledger.db", old / f"{done}ledger.mark"
    if not file.exists():
        raise ValueError(f"{old} has no ledger.db: give a folder, home or ledger that was in use")
    home.settle(column)
    ledger = Ledger(file, mark) if mark.exists() else Ledger.adopt(file, mark)
    entries = ledger.entries()
    ledger.close()
    with home.ledger.transaction() as book:
        for entry in entries:
            value = None if column is None else owner_name(entry.owner)
            _append(book, replace(entry, owner=home.owner(value)))
    if (old / "campaign.key").exists() and (old / "identity").exists():
        campaign = (old / "campaign.key").read_bytes()
        name = entries[-1].owner if entries and column is None else ""
        secret = Identity.at(old).secret
        read_or_create(home.moved_identity(campaign), lambda: secret + name.encode())
        home.pin(campaign, "")
        _copy_peer(old, home.peers(campaign))
    for file in old.glob("ledger.*"):  # so that nobody goes on with it
        file.rename(file.with_name(f"{_DONE}{file.name}"))
    return len(entries)


def adopt_home(folder: Path) -> int:
    """Take the ledger of a home that was moved here for the latest; how many releases it has."""
    identity = Identity.at(folder)
    ledger = Ledger.adopt(folder / "ledger.db", guard_of(identity), guards_of(folder))
    return len(ledger.entries())


def _append(book: Book, entry: Entry) -> None:
    """Add a release, unless it is there; beside another to the same question, under a digest of
    its own.
    """
    before = book.find(entry.owner, entry.digest, entry.key)
    if before is not None and before != entry:
        other = blake2b(entry.digest + entry.report, digest_size=len(entry.digest)).digest()
        entry = replace(entry, digest=other)
        before = book.find(entry.owner, other, entry.key)
    if before is None:
        book.add(entry)


def _copy_peer(old: Path, folder: Path) -> None:
    """What a peer took in, and models of its own."""
    if (old / "relayed").is_dir():
        shutil.copytree(old / "relayed", folder / "relayed", dirs_exist_ok=True)
    for model in old.glob("own-model*.tacit"):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.copy2(model, folder / model.name)
