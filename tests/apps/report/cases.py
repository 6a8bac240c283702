"""Reports used by several tests, and a parser of pages."""

import json
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pandas as pd
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dempster.apps.report import make_report
from dempster.cluster import ECM, EVCLUS
from dempster.datasets import load_wine

# Text that must be escaped: scripts, markup, control characters, other writing directions, long
# text.
HOSTILE = [
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=2</script>",
    "</title><img src=x onerror='window.hacked=3'>",
    '" onmouseover="window.hacked=4" x="',
    "'><svg onload=window.hacked=5>",
    "<!-- <b>",
    "-->]]></style><style>*{display:none}</style>",
    "&lt;b&gt; &amp; &#60;",
    "javascript:window.hacked=6",
    "\u202egnitirw fo noitcerid\u202c",
    "a\u0000b\u001b[31m\u2028c",
    "{{7*7}} ${window.hacked=7} `x`",
    "👩‍🔬🇮🇹",
    "اسم العمود",
    "x" * 3000,
]


@cache
def wine_model():
    return make_pipeline(StandardScaler(), EVCLUS("auto", random_state=0)).fit(
        load_wine(as_frame=True).data
    )


@cache
def wine_report():
    wine = load_wine(as_frame=True)
    return make_report(
        wine_model(), wine.data, y=wine.target, title="Wines", random_state=0
    )


@cache
def hostile_report():
    """Return a report in which all names are hostile."""
    X, _, centers = make_blobs(
        80,
        len(HOSTILE),
        centers=3,
        cluster_std=1.5,
        random_state=1,
        return_centers=True,
    )
    ambiguous = (
        np.repeat((centers + centers[[1, 2, 0]]) / 2, 3, axis=0)
        + np.linspace(-0.1, 0.1, 9)[:, None]
    )
    X = np.vstack([X, ambiguous, np.full((1, len(HOSTILE)), 90.0)])
    index = [f"{HOSTILE[i % len(HOSTILE)]}{i}" for i in range(len(X))]
    frame = pd.DataFrame(X, columns=HOSTILE, index=index)
    frame["text"] = [HOSTILE[i % len(HOSTILE)] for i in range(len(X))]
    model = ECM(3, random_state=0).fit(frame[HOSTILE])
    assert len(model.credal_partition_.ambiguous)
    assert len(model.credal_partition_.outliers)
    return make_report(
        model,
        frame[HOSTILE],
        attributes=frame,
        title=HOSTILE[1],
        names=HOSTILE[:3],
        stability=False,
    )


@cache
def many_report():
    X, _ = make_blobs(
        1200, 3, centers=60, cluster_std=0.9, center_box=(-12, 12), random_state=3
    )
    return make_report(ECM(60, n_init=1, random_state=0).fit(X), X, stability=False)


@dataclass
class Element:
    """An element of a page; the text includes that of its children."""

    name: str
    attributes: dict
    text: str = ""
    children: list = field(default_factory=list)

    def all(self, name):
        if self.name == name:
            own = [self]
        else:
            own = []
        return own + [element for child in self.children for element in child.all(name)]


class _Reader(HTMLParser):
    void = {"input", "meta", "wbr"}

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.root = Element("root", {})
        self.open = [self.root]

    def handle_starttag(self, tag, attrs):
        element = Element(tag, dict(attrs))
        assert len(element.attributes) == len(attrs), (
            f"an attribute of {tag} is there twice"
        )
        self.open[-1].children.append(element)
        if tag not in self.void:
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open[-1].name == tag, f"{self.open[-1].name} is closed by {tag}"
        self.open.pop()

    def handle_data(self, data):
        for element in self.open:
            element.text += data


def read(page):
    """Return the elements of a page, which must be nested correctly."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == [reader.root]
    return reader.root


def points(n, n_clusters=3, p=2, seed=0, spread=1.5):
    return make_blobs(n, p, centers=n_clusters, cluster_std=spread, random_state=seed)[
        0
    ]


def masses(n, family, seed=0):
    values = np.random.default_rng(seed).exponential(size=(n, len(family))) ** 3
    return values / values.sum(axis=1, keepdims=True)


def unpack(content):
    """Read the format of `dempster.apps.map.pack`."""
    length = int.from_bytes(content[:8], "little")
    about = json.loads(content[8 : 8 + length])
    for name, part in about.pop("arrays").items():
        about[name] = np.frombuffer(
            content, part["kind"], part["length"], 8 + length + part["at"]
        )
    return about
