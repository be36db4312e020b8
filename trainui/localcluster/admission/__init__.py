"""What becomes of an object before it is stored: defaults, rules of its kind, what may not change."""

from trainui.localcluster.admission.admit import admit

__all__ = ["admit"]
