"""The HTTP face of the local cluster: the subset of Kubernetes' REST API that jobs, kubectl and the SDK need."""
