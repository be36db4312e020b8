"""ZeroMQ's text form of binary keys (rfc.zeromq.org/spec/32): 4 bytes as 5 characters."""

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def z85(data: bytes) -> str:
    """Return bytes as Z85 text. Raises ValueError unless their number is a multiple of 4."""
    if len(data) % 4:
        raise ValueError("Z85 encodes a multiple of 4 bytes")
    text = []
    for start in range(0, len(data), 4):
        number = int.from_bytes(data[start : start + 4], "big")
        text += [_ALPHABET[number // 85**power % 85] for power in (4, 3, 2, 1, 0)]
    return "".join(text)
