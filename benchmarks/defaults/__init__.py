"""How good are the defaults? ``python -m benchmarks.defaults`` writes benchmarks/DEFAULTS.md.

`data` says on what, `methods` what is fitted, `measures` what is measured, `page` and `pictures` how it is told.
"""
