"""Choose the partition of a table that should agree most with the true clusters.

1. `rows` draws rows, and computes what all partitions share.
2. `candidates` makes partitions into all numbers of clusters by several families of methods.
3. `measures` measures each partition, independently of the method that made it.
4. `judge` predicts the agreement with the true clusters from the measures.
5. `decision` selects the candidate with the largest prediction; `number` reports the numbers.

The judge is learned from generated data by ``python -m benchmarks.choice.learn``.
"""
