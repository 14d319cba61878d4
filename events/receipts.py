"""Receipts: what a session was when it was sealed, in a few lines that can be kept, published or signed elsewhere.

A chain vouches for everything before its head, but not for the head: who can write the database can cut the end off, or
compute the chain of a session anew, or remove the session. A receipt that is kept where they cannot write shows it.

A receipt is canonical JSON; `digest` is that of its other fields but the signature, which signs the text of `digest`.
Keys are Ed25519 in PEM, as `opmend keygen` and `openssl genpkey -algorithm ed25519` write them.
"""

from __future__ import annotations

import base64
import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, ValidationError

from events.canonical import canonical, digest_of
from events.envelope import timestamp
from events.errors import LogReadOnly, ReceiptUnusable
from events.types import Digest, Frozen

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

Key = Annotated[str, Field(pattern=r"^ed25519:[A-Za-z0-9+/]{43}=$")]


class Receipt(Frozen):
    """`session` had `length` events and ended with the hash `head` when it was sealed.

    `outcome`: accepted, exhausted or aborted, None while it was open; `candidate`: the one that was accepted.
    `withheld`: blobs that the export this receipt came with leaves out, though events name them.
    """

    receipt: Literal[1] = 1
    session: str
    length: int = Field(ge=1)
    head: Digest
    sealed_at: str
    outcome: str | None
    candidate: Digest | None
    withheld: tuple[Digest, ...] = ()
    public_key: Key | None = None
    digest: Digest = "sha256:" + "0" * 64
    signature: Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]{86}==$")] | None = None

    @property
    def document(self) -> bytes:
        """The receipt as it is stored and handed out: canonical JSON."""
        return canonical(self.model_dump())

    @property
    def content(self) -> str:
        """What `digest` has to be."""
        return digest_of(canonical(self.model_dump(exclude={"digest", "signature"})))


def receipt_of(
    session: str,
    length: int,
    head: str,
    at: datetime,
    *,
    outcome: str | None = None,
    candidate: str | None = None,
    withheld: tuple[str, ...] = (),
    key: Path | None = None,
) -> Receipt:
    """A receipt, signed if `key` (a private key in PEM) is given. Raises ReceiptUnusable for what is no such key."""
    private = None if key is None else _private(key)
    made = Receipt(
        session=session,
        length=length,
        head=head,
        sealed_at=timestamp(at),
        outcome=outcome,
        candidate=candidate,
        withheld=tuple(sorted(withheld)),
        public_key=None if private is None else key_text(private.public_key()),
    )
    digest = made.content
    signature = None if private is None else base64.b64encode(private.sign(digest.encode())).decode()
    return made.model_copy(update={"digest": digest, "signature": signature})


def parse(document: bytes, where: str) -> Receipt:
    """The receipt in `document`. Raises ReceiptUnusable; whether it is genuine is for `fault`."""
    try:
        return Receipt.model_validate_json(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise ReceiptUnusable(f"{where} is not a receipt: {place}: {first['msg']}") from error


def fault(receipt: Receipt, public: str | None = None) -> str | None:
    """Why the receipt itself is not to be believed; None if it is whole, and signed by `public` where one is given."""
    if receipt.digest != receipt.content:
        return "the receipt was changed: its digest does not match what it says"
    if public is not None and receipt.public_key != public:
        signed = f"signed with {receipt.public_key}" if receipt.signature else "not signed"
        return f"the receipt is {signed}, and was to be signed with {public}"
    if receipt.signature is None and receipt.public_key is None:
        return None
    if receipt.signature is None or receipt.public_key is None:
        return "the receipt names a key and bears no signature, or the other way round"
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(receipt.public_key.removeprefix("ed25519:")))
        key.verify(base64.b64decode(receipt.signature), receipt.digest.encode())
    except (InvalidSignature, ValueError):
        return f"the signature is not that of {receipt.public_key}"
    return None


# ---------------------------------------------------------------- keys


def key_text(key: Ed25519PublicKey) -> str:
    """A public key as receipts name it: `ed25519:` and its 32 bytes in base64."""
    return "ed25519:" + base64.b64encode(key.public_bytes_raw()).decode()


def read_public(path: Path) -> str:
    """The public key in the PEM file `path`, as receipts name it. Raises ReceiptUnusable."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ReceiptUnusable(f"{path} cannot be read as a public key in PEM: {error}") from error
    if not isinstance(key, Ed25519PublicKey):
        raise ReceiptUnusable(f"{path} is a public key, but not of Ed25519: make one with `opmend keygen`")
    return key_text(key)


def make_keys(path: Path) -> str:
    """Write a new private key to `path` (mode 600) and its public key to `path`.pub; returns the latter's text.

    Raises ReceiptUnusable when one of the files is there already: a key that signed receipts is not to be lost.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    private, public = Ed25519PrivateKey.generate(), path.with_name(path.name + ".pub")
    secret = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    shown = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    for place, data, mode in ((path, secret, 0o600), (public, shown, 0o644)):
        try:
            with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(data)
        except FileExistsError as error:
            raise ReceiptUnusable(f"{place} exists and is not overwritten: name another file") from error
        except PermissionError as error:
            raise LogReadOnly(f"{place} cannot be written: {error}") from error
    return key_text(private.public_key())


def _private(path: Path) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise ReceiptUnusable(f"{path} cannot be read as a private key in PEM, without password: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise ReceiptUnusable(f"{path} is a private key, but not of Ed25519: make one with `opmend keygen`")
    return key
