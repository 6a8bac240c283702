"""How a `CautiousTree` is grown, cut back and put into words. Nothing here knows the estimator."""
