"""What objects a TrainJob needs in the cluster: pure functions over plain data, one module per policy."""

from .build import build as build
from .build import expected as expected
from .build import needs_keys as needs_keys
from .build import needs_ssh_key as needs_ssh_key
from .capabilities import Capabilities as Capabilities
from .capabilities import Progress as Progress
from .capabilities import Rendezvous as Rendezvous
from .errors import BuildError as BuildError
from .keys import Keys as Keys
from .keys import generate_keys as generate_keys
