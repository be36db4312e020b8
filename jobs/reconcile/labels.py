"""Labels and annotations that tie objects of the cluster to rows."""

SUBMISSION_LABEL = "trainui.dev/submission-id"
SUBMITTED_BY = "trainui.dev/submitted-by"
