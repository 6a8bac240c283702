"""Compare speed, memory and quality with other implementations in the same run: ``python -m benchmarks``.

A subject is a module ``bench_<subject>.py`` in this folder. Each of its functions decorated with
`benchmarks.harness.benchmark` takes ``quick`` (a Boolean: use small sizes) and returns a list of
`benchmarks.harness.Row`. The parent process stays small: data are generated and work is measured in
fresh processes by `benchmarks.harness.memory`, `benchmarks.harness.timings` and
`benchmarks.harness.apart`.
"""
