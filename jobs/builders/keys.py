"""Key material of jobs: made by the shell, once per job, and passed into a build that stays pure."""

import base64
from dataclasses import dataclass, field

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, x25519


@dataclass(frozen=True)
class Keys:
    """The keys of one job; what its policy does not need stays unused.

    ssh_private: ECDSA P-521 in PEM (`EC PRIVATE KEY`), as mpi-operator and Kubeflow Trainer make it.
    ssh_public: the same key as one line of `authorized_keys`.
    curve_public, curve_secret: X25519 pair of a Flux instance, 32 bytes each.
    """

    ssh_private: str = field(repr=False)
    ssh_public: str
    curve_public: bytes
    curve_secret: bytes = field(repr=False)


def generate_keys() -> Keys:
    """Return fresh random keys for one job.

    Upstream derives Flux's key from the TrainJob's uid, which is no secret (facts: mpi-and-gang-scheduling 3.3).
    """
    ssh = ec.generate_private_key(ec.SECP521R1())
    curve = x25519.X25519PrivateKey.generate()
    raw = serialization.Encoding.Raw
    return Keys(
        ssh_private=ssh.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        ).decode("ascii"),
        ssh_public=ssh.public_key()
        .public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        .decode("ascii")
        + "\n",
        curve_public=curve.public_key().public_bytes(raw, serialization.PublicFormat.Raw),
        curve_secret=curve.private_bytes(raw, serialization.PrivateFormat.Raw, serialization.NoEncryption()),
    )


def encoded(text: str | bytes) -> str:
    """Return a value as the `data` of a Secret holds it."""
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode("ascii")
