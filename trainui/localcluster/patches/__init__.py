"""The ways in which a request changes an object: JSON patch and strategic merge patch (merge patch is in `objects`)."""
