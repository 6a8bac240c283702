"""Evaluation of the defaults: ``python -m benchmarks.defaults`` writes benchmarks/DEFAULTS.md.

`data` has the data sets, `methods` the methods, `measures` the measures, and `fitting` runs the
fits. `evidence` holds the results; `promises`, `advice` and `pictures` evaluate them, and `page`
writes the report.
"""
