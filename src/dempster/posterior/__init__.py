"""How plausible each cluster is for each object, given a table and the clusters that were found."""

from dempster.posterior.model import PosteriorModel as PosteriorModel
