"""
Ask an expert about informative pairs
=====================================

Select informative pairs, ask an expert whether they belong together, and use the answers as constraints.
"""

import matplotlib.pyplot as plt
from sklearn.metrics import adjusted_rand_score

from dempster.cluster import EVCLUS
from dempster.constraints import Constraints, suggest_pairs
from dempster.datasets import load_iris

X, truth = load_iris(return_X_y=True)


def score(constraints):
    model = EVCLUS(3, random_state=0).fit(X, constraints=constraints)
    return adjusted_rand_score(truth, model.labels_), model.credal_partition_


# %%
# Each suggested pair has an uncertain and a certain object. The simulated expert knows the true
# classes. For comparison, the expert is also asked about random pairs.
print("answers   random questions   suggested questions")
agreement, partition = score(Constraints())
print(f"{0:7d}{agreement:19.2f}{agreement:22.2f}")
known = Constraints()
curves = [(0, agreement, agreement)]
for n_answers in range(20, 101, 20):
    questions = suggest_pairs(partition, 20, constraints=known)
    known = known | Constraints.from_pairs(questions, truth)
    agreement, partition = score(known)
    by_chance, _ = score(
        Constraints.from_labels(truth, n_answers, random_state=n_answers)
    )
    print(f"{n_answers:7d}{by_chance:19.2f}{agreement:22.2f}")
    curves.append((n_answers, by_chance, agreement))

print(
    f"\n{known!r}, violated by the last partition: {len(known.violations(partition))}"
)

# %%
# Adjusted Rand index against the number of answers, from 0 to 100. The curve of the suggested
# questions rises above the curve of the random questions.
answers, random_questions, suggested = zip(*curves, strict=True)
_, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.plot(answers, suggested, ".-", label="suggested questions")
ax.plot(answers, random_questions, ".--", label="random questions")
ax.set(xlabel="answers of the expert", ylabel="adjusted Rand index")
ax.legend(frameon=False)
ax.figure.savefig("expert_in_the_loop.png", dpi=120)
print("wrote expert_in_the_loop.png")
