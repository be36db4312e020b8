"""Key material."""

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from jobs.builders.keys import generate_keys
from jobs.builders.z85 import z85


def test_ssh_pair_is_ecdsa_p521_and_belongs_together():
    keys = generate_keys()
    assert keys.ssh_private.startswith("-----BEGIN EC PRIVATE KEY-----")
    private = serialization.load_pem_private_key(keys.ssh_private.encode(), None)
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    assert isinstance(private.curve, ec.SECP521R1)
    public = serialization.load_ssh_public_key(keys.ssh_public.encode())
    assert isinstance(public, ec.EllipticCurvePublicKey)
    assert public.public_numbers() == private.public_key().public_numbers()
    assert keys.ssh_public.endswith("\n")


def test_keys_are_random_and_never_shown():
    first, second = generate_keys(), generate_keys()
    assert first.ssh_private != second.ssh_private
    assert first.curve_secret != second.curve_secret
    assert "PRIVATE" not in repr(first)
    assert str(first.curve_secret) not in repr(first)


def test_z85_reference_vector():
    """The example of rfc.zeromq.org/spec/32."""
    assert z85(bytes([0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B])) == "HelloWorld"
