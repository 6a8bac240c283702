"""What a report says: the case, its clusters, its doubts, its places, and how far to trust them."""
