"""Annotations that tie objects of the cluster to rows."""

SUBMISSION_ID = "trainui.dev/submission-id"
JOB_SET_NAME = "jobset.sigs.k8s.io/jobset-name"  # label of pods
SUBMITTED_BY = "trainui.dev/submitted-by"


def submission_of(obj: dict) -> str:
    """Return the id of the row whose submission made an object, "" for one made elsewhere."""
    return (obj["metadata"].get("annotations") or {}).get(SUBMISSION_ID, "")
