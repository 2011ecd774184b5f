"""Bidding at Texas 42: P(make), bidders, contracts."""
