"""Pages and pictures of Texas 42: hands before the auction, and recorded decisions."""
