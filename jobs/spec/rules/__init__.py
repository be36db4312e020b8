"""Rules of TrainJobs beyond their schema: one module per concern, one function per rule."""
