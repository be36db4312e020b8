"""Kubernetes quantities as whole thousandths, which can be added up exactly. Pure."""

from decimal import ROUND_CEILING
from functools import lru_cache

from trainui.localcluster.quantities import parse_quantity


@lru_cache(maxsize=4096)
def parse(quantity: str | int | float) -> int:
    """Return a quantity in thousandths, rounded up: `1500m` is 1500, `1Ki` is 1024000. Raises ValueError for what is no quantity."""
    return int((parse_quantity(quantity) * 1000).to_integral_value(ROUND_CEILING))
