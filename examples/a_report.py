"""One page for the person who has to decide: wines by their chemistry, with what is certain and what is not.

python examples/a_report.py
"""

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dempster.apps.report import make_report
from dempster.cluster import EVCLUS
from dempster.datasets import load_wine

wine = load_wine(as_frame=True)
model = make_pipeline(StandardScaler(), EVCLUS("auto", random_state=0)).fit(wine.data)

# The table is the one that was fitted: the page shows its own units. Known classes only judge the doubt, at the end.
report = make_report(model, wine.data, y=wine.target, title="Three kinds of wine")
print(report)
print("wrote", report.save("wines.html"))
