"""An expert answers questions: are these two in the same cluster? Ask the questions that teach most.

python examples/expert_in_the_loop.py
"""

from sklearn.metrics import adjusted_rand_score

from dempster.cluster import EVCLUS
from dempster.constraints import Constraints, suggest_pairs
from dempster.datasets import load_iris

X, truth = load_iris(return_X_y=True)


def score(constraints):
    model = EVCLUS(3, random_state=0).fit(X, constraints=constraints)
    return adjusted_rand_score(truth, model.labels_), model.credal_partition_


print("answers   random questions   suggested questions")
agreement, partition = score(Constraints())
print(f"{0:7d}{agreement:19.2f}{agreement:22.2f}")
known = Constraints()
for n_answers in range(20, 101, 20):
    # An uncertain object against a certain one, nothing that is known already; the expert knows the truth.
    questions = suggest_pairs(partition, 20, constraints=known)
    known = known | Constraints.from_pairs(questions, truth)
    agreement, partition = score(known)
    by_chance, _ = score(Constraints.from_labels(truth, n_answers, random_state=n_answers))
    print(f"{n_answers:7d}{by_chance:19.2f}{agreement:22.2f}")

print(f"\n{known!r}, not followed by the last partition: {len(known.violations(partition))}")
