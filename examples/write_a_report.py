"""
Write an HTML report
====================

Write an HTML report on a clustering of wines, which can be sent to colleagues and opened in any browser.
"""

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dempster.apps.report import make_report
from dempster.cluster import EVCLUS
from dempster.datasets import load_wine

wine = load_wine(as_frame=True)
model = make_pipeline(StandardScaler(), EVCLUS("auto", random_state=0)).fit(wine.data)

# %%
# The report shows the original units of the table. The known classes are used only to evaluate the
# doubt.
report = make_report(model, wine.data, y=wine.target, title="Three kinds of wine")
print(report)
print("wrote", report.save("wines.html"))

# %%
# The report begins with a map of the wines, which is interactive. The same partition as a plot:
#
# The wines in the plane of their first two principal components: three groups with filled hulls,
# and two-colored points between neighboring groups.
scaled = model[0].transform(wine.data)
model[-1].credal_partition_.plot(scaled).figure_.savefig("write_a_report.png", dpi=120)
print("wrote write_a_report.png")
