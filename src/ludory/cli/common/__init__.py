"""What commands share: dispatch, options, errors as one line."""
