"""What commands share: dispatch, parsing, options, files, what is shown, errors as one line."""
