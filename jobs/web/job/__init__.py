"""The page of one job: what is shown is worked out by plain functions here, views only put it together."""
