"""Write an HTML report on a clustering of wines.

python examples/write_a_report.py
"""

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dempster.apps.report import make_report
from dempster.cluster import EVCLUS
from dempster.datasets import load_wine

wine = load_wine(as_frame=True)
model = make_pipeline(StandardScaler(), EVCLUS("auto", random_state=0)).fit(wine.data)

# The report shows the original units of the table. The known classes are used only to evaluate the doubt.
report = make_report(model, wine.data, y=wine.target, title="Three kinds of wine")
print(report)
print("wrote", report.save("wines.html"))
