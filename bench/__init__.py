"""`make bench`: ratios taken in one run on one machine, one JSON line each. Nothing here passes or fails."""
