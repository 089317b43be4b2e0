"""Certificates that servers of tests prove themselves with."""

from __future__ import annotations

import ssl
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from hookgate.network.https import trust_store


def certified(folder: Path, name: str) -> tuple[Path, Path]:
    """The files of a key and of the certificate that it has signed for itself, for a server of this name."""
    key = ec.generate_private_key(ec.SECP256R1())
    who, day = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), timedelta(days=1)
    builder = x509.CertificateBuilder(who, who, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(datetime.now(UTC) - day).not_valid_after(datetime.now(UTC) + day)
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    (folder / "certificate.pem").write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    kept = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "key.pem").write_bytes(kept)
    return folder / "key.pem", folder / "certificate.pem"


@contextmanager
def believed(certificate: Path) -> Generator[None]:
    """As an authority, by whatever makes connections of hookgate's meanwhile."""
    made = httpx.create_ssl_context

    def with_ours(**given: Any) -> ssl.SSLContext:
        context = made(**given)
        context.load_verify_locations(certificate)
        return context

    trust_store.cache_clear()
    try:
        with pytest.MonkeyPatch.context() as patching:
            patching.setattr(httpx, "create_ssl_context", with_ours)
            yield
    finally:
        trust_store.cache_clear()


@contextmanager
def of_the_machine(certificate: Path) -> Generator[None]:
    """As an authority that whoever runs hookgate has named."""
    trust_store.cache_clear()
    try:
        with pytest.MonkeyPatch.context() as patching:
            patching.setenv("SSL_CERT_FILE", str(certificate))
            yield
    finally:
        trust_store.cache_clear()
