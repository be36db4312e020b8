"""The shell around the pure core: leases, the cluster, the mirror, and what is written back."""
