"""One module a page, each with `routes`: read the request, call a plain function, fill a template."""
