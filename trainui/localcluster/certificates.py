"""The certificate of the local cluster's server.

kubectl sends a token over TLS only (client-go reads no credentials for plain http), so even a server on loopback needs one.
"""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from trainui.localcluster.files import write_private

VALID = timedelta(days=3650)
RENEW_BEFORE = timedelta(days=30)


def ensure_certificate(folder: Path) -> tuple[Path, Path, Path]:
    """Return the files of the authority, the server's certificate and its key; made anew when missing or close to their end.

    The authority's key is forgotten at once: it signs this one certificate. Raises OSError.
    """
    authority, certificate, key = folder / "ca.crt", folder / "server.crt", folder / "server.key"
    if not all(path.exists() for path in (authority, certificate, key)) or _ends_soon(certificate):
        ca_pem, pem, key_pem = make_certificates(datetime.now(UTC))
        write_private(authority, ca_pem)
        write_private(key, key_pem)
        write_private(certificate, pem)
    return authority, certificate, key


def _ends_soon(path: Path) -> bool:
    try:
        found = x509.load_pem_x509_certificate(path.read_bytes())
    except ValueError:
        return True
    return found.not_valid_after_utc < datetime.now(UTC) + RENEW_BEFORE


def make_certificates(now: datetime) -> tuple[str, str, str]:
    """Return, as PEM, a new authority, a certificate for loopback that it signed, and the certificate's key."""
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca_name, name = _name("trainui local cluster authority"), _name("trainui local cluster")
    ca = (
        _builder(ca_name, ca_name, ca_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(sign=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    hosts = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]
    certificate = (
        _builder(name, ca_name, key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(sign=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    key_pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return ca.public_bytes(Encoding.PEM).decode(), certificate.public_bytes(Encoding.PEM).decode(), key_pem.decode()


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + VALID)
    )


def _usage(sign: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=sign,
        crl_sign=sign,
        encipher_only=False,
        decipher_only=False,
    )
