"""How good are the defaults? ``python -m benchmarks.defaults`` writes benchmarks/DEFAULTS.md.

`data` says on what, `methods` what is fitted, `measures` what is measured; `fitting` does it. `evidence` holds what was
measured, `promises`, `advice` and `pictures` make something of it, and `page` writes it down.
"""
