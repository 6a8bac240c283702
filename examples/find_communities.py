"""
Communities of a network
========================

Find the communities of a network, and the nodes between them.

The members of a karate club split into two groups after a conflict between the instructor and an
administrator. The friendships before the conflict are the edges of a graph (Zachary, 1977). The
communities of the graph are compared with the groups.
"""

import matplotlib.pyplot as plt
import networkx as nx

from dempster.cluster import EKNNClus
from dempster.explain import quality

club = nx.karate_club_graph()
group = [club.nodes[member]["club"] for member in club]
model = EKNNClus(random_state=0).fit(club)
partition = model.credal_partition_
print(partition.summary())

# %%
# Two members have friends in both communities. Their masses are on the frame, the set of both
# communities.
partition.plot(club, title="Friendships in a karate club")
plt.show()

# %%
print(partition.to_frame().iloc[partition.ambiguous].round(2))

# %%
# The sets contain the group of every member, and the label of one ambiguous member is wrong.
print(quality(partition, club, group, random_state=0))

# %%
# If the group of some members is known, they keep it.
known = {0: "Mr. Hi", 33: "Officer", 8: "Mr. Hi"}
print(EKNNClus(random_state=0).fit(club, known).labels_.tolist())

# %%
# A new member is assigned by his friends.
new = nx.Graph([("new member", 0), ("new member", 1), ("other", 0), ("other", 33)])
print(model.predict_mass(new).to_frame().round(2))
