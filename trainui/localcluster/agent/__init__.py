"""The node agent of the local cluster: runs the pods of its virtual machines as process groups."""
