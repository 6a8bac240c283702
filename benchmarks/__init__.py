"""Speed, memory and quality, beside other implementations measured in the same run: ``python -m benchmarks``.

A subject is a module ``bench_<subject>.py`` in this folder; it is found by its name. Each of its functions marked with
`benchmarks.harness.benchmark` takes ``quick`` (a Boolean: use small sizes) and returns a list of
`benchmarks.harness.Row`. The parent process stays small: data are made, and work is measured, in fresh processes by
`benchmarks.harness.memory`, `benchmarks.harness.timings` and `benchmarks.harness.apart`.
"""
