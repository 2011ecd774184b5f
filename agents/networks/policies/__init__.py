"""Policy networks by id, as `ludory list networks` shows them."""
