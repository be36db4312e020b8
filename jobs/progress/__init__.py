"""What pods report: progress and metrics by Kubeflow's own POST, and files to keep."""
