"""What a `Profile` is made of: attributes, groups, comparisons, words."""
