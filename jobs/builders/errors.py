"""What a build raises when no cluster state could ever make the job possible."""

from collections.abc import Iterable

from runtimes.spec.findings import Finding


class BuildError(Exception):
    """The job can never be built as it is; reconcile turns this into the condition Failed.

    findings: what is wrong, at which field, at least one.
    """

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = list(findings)
        super().__init__("; ".join(finding.message for finding in self.findings))

    @classmethod
    def of(cls, path: str, code: str, message: str, **params: object) -> "BuildError":
        """Return the error of one finding."""
        return cls([Finding(path, code, message, dict(params))])
