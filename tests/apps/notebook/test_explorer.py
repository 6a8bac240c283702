"""The widget for notebooks: its values in Python, and its page in a browser."""

import base64
import importlib
import json
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dempster import CredalPartition, FocalSets
from dempster._errors import InvalidInputError, InvalidParameterError, MissingExtraError
from dempster.cluster import ECM, EVCLUS
from dempster.explain import explain_object
from tests.apps.report.browser import launch_browser

pytest.importorskip(
    "anywidget", reason="the widget needs anywidget: pip install 'dempster[notebook]'"
)

from dempster.apps.notebook import explore, explorer

HOSTILE = "<img src=x onerror=window.hacked=1>"
rng = np.random.default_rng(0)
N = 60
VALUES = np.repeat([[0.0, 0.0], [8.0, 1.0], [3.0, 7.0]], N // 3, axis=0) + rng.normal(
    size=(N, 2)
)
X = pd.DataFrame(
    VALUES, index=[f"plant {i}" for i in range(N)], columns=["length", "width"]
)
X = X.rename(index={"plant 1": HOSTILE})
MODEL = ECM(3, focal_sets="pairs", random_state=0).fit(X)
PARTITION = MODEL.credal_partition_


def read_map(widget):
    """Return the JSON header and the arrays of the data that the page receives."""
    packed = widget._data
    end = 8 + int.from_bytes(packed[:8], "little")
    head = json.loads(packed[8:end])
    arrays = {
        name: np.frombuffer(packed, field["kind"], field["length"], end + field["at"])
        for name, field in head["arrays"].items()
    }
    return head, arrays


# ---- Python --------------------------------------------------------------------------------------


def test_map_has_objects_axes_and_largest_masses():
    head, arrays = read_map(explore(PARTITION, X))
    np.testing.assert_array_equal(arrays["rows"], np.arange(N))
    np.testing.assert_array_equal(arrays["best"], PARTITION.best_set)
    assert head["names"] == X.index.tolist()
    assert [head["axes"][a]["name"] for a in head["first"]] == ["length", "width"]
    for a, column in zip(head["first"], X.columns, strict=True):
        axis = head["axes"][a]
        levels = arrays["levels"][a * N : (a + 1) * N]
        values = axis["low"] + levels / 65534 * (axis["high"] - axis["low"])
        np.testing.assert_allclose(values, X[column], atol=1e-3)
    shown = arrays["top_sets"].reshape(N, -1)
    for i in range(N):
        assert sorted(PARTITION.masses[i])[-3:] == sorted(PARTITION.masses[i][shown[i]])
        np.testing.assert_allclose(
            arrays["top_masses"].reshape(N, -1)[i] / 65535,
            PARTITION.masses[i][shown[i]],
            atol=1e-5,
        )


def test_selection_accepts_arrays_of_positions():
    widget = explore(PARTITION, X)
    seen = []
    widget.observe(lambda change: seen.append(change["new"]), "selection")
    widget.selection = np.array([5, 2, 5])
    widget.selection = []
    widget.selection = pd.Series([7])
    assert seen == [[2, 5], [], [7]]
    assert repr(widget) == f"PartitionExplorer({N} objects, 1 selected)"
    for wrong in ([N], [-1], [0.5], ["a"], [[1]], 3):
        with pytest.raises(
            InvalidParameterError, match="selection must be a list of positions"
        ):
            widget.selection = wrong
    assert widget.selection == [7]


def test_focus_explains_an_object():
    widget = explore(MODEL, X)
    for i in np.append(PARTITION.ambiguous[:2], 0):
        widget.focus = i
        assert widget.explanation == explain_object(MODEL, X, X.index[i]).to_text()
    widget.focus = None
    assert widget.explanation == ""
    for wrong in (N, -1):
        with pytest.raises(
            InvalidParameterError,
            match="focus must be a position from 0 to 59, or None",
        ):
            widget.focus = wrong
    partition = explore(PARTITION, X)
    partition.focus = 3
    assert partition.explanation == explain_object(PARTITION, X, "plant 3").to_text()


def test_rows_of_another_order_are_matched_by_name():
    other = explore(PARTITION, X[::-1])
    head, _ = read_map(other)
    assert head["names"] == X.index.tolist()
    other.focus = 3
    assert other.explanation == explain_object(PARTITION, X, "plant 3").to_text()


def test_pipelines_dissimilarities_labels_and_no_table():
    pipeline = make_pipeline(StandardScaler(), ECM(3, random_state=0)).fit(X)
    widget = explore(pipeline, X)
    widget.focus = 4
    assert widget.explanation.startswith("Object plant 4 is")
    D = np.linalg.norm(VALUES[:, None] - VALUES, axis=2)
    widget = explore(EVCLUS(3, metric="precomputed", random_state=0).fit(D), D)
    assert read_map(widget)[0]["axes"][0]["name"] == "MDS 1"
    widget.focus = 4
    assert "near" in widget.explanation
    assert (
        read_map(explore(PARTITION[:], D, metric="precomputed", attributes=X))[0][
            "axes"
        ][-1]["name"]
        == "width"
    )
    assert read_map(explore(MODEL.labels_, X))[0]["clusters"] == [
        "cluster 0",
        "cluster 1",
        "cluster 2",
    ]
    widget = explore(PARTITION, names=["a", "b", "c"])
    assert read_map(widget)[0]["clusters"] == ["a", "b", "c"]
    widget.focus = 0
    assert widget.explanation == ""


def test_invalid_arguments_raise():
    with pytest.raises(
        InvalidParameterError, match="^X must have a row for each of the 60 objects"
    ):
        explore(PARTITION, X.iloc[:5])
    with pytest.raises(InvalidParameterError, match="^X must be the dissimilarities"):
        explore(PARTITION, metric="precomputed")
    with pytest.raises(InvalidInputError, match="the map needs objects that differ"):
        explore(CredalPartition([[0.0, 1.0]] * 3, FocalSets.simple(1, omega=False)))


def test_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    for module in ("dempster.apps.notebook", "dempster.apps.notebook.explorer"):
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(
        MissingExtraError, match=r"needs anywidget: pip install 'dempster\[notebook\]'"
    ):
        importlib.import_module("dempster.apps.notebook")


def test_more_objects_than_the_map_shows(monkeypatch):
    monkeypatch.setattr(explorer, "MAX_POINTS", 20)
    widget = explore(PARTITION, X)
    head, arrays = read_map(widget)
    assert len(arrays["rows"]) == head["n"] == 20
    np.testing.assert_array_equal(arrays["best"], PARTITION.best_set[arrays["rows"]])
    widget.selection = np.arange(N)  # Objects that are not on the map can be selected.
    assert len(widget.selection) == N


# ---- browser -------------------------------------------------------------------------------------

# A model like that of anywidget. `sync` is a function of Python, which returns the values that
# change there.
OPEN = """async ([esm, css, packed, state, prefix]) => {
    document.head.appendChild(document.createElement("style")).textContent = css;
    const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
    const padded = new Uint8Array(bytes.length + prefix); // The data need not start at the beginning of their buffer.
    padded.set(bytes, prefix);
    const values = { ...state, _data: new DataView(padded.buffer, prefix) }, listeners = new Map();
    let changed = {};
    const put = (name, value) => {
        values[name] = value;
        for (const one of listeners.get(`change:${name}`) ?? []) one();
    };
    window.model = {
        get: (name) => values[name],
        set: (name, value) => { changed[name] = value; put(name, value); },
        save_changes: async () => { const sent = changed; changed = {}; receive(await window.sync(sent)); },
        on: (name, one) => listeners.set(name, [...(listeners.get(name) ?? []), one]),
        off: (name, one) => listeners.set(name, listeners.get(name).filter((other) => other !== one)),
    };
    window.receive = (some) => { for (const [name, value] of Object.entries(some)) put(name, value); };
    const { default: widget } = await import(URL.createObjectURL(new Blob([esm], { type: "text/javascript" })));
    window.cleanup = widget.render({ model: window.model, el: document.getElementById("cell") });
    window.listening = () => [...listeners.values()].flat().length;
}"""
MARGIN = {"left": 58, "right": 14, "top": 12, "bottom": 46}  # of scatter.js


@pytest.fixture(scope="module")
def browser(playwright):
    browser = launch_browser(playwright)
    yield browser
    browser.close()


@pytest.fixture
def open_widget(browser):
    """Show a widget in a page and connect its values.

    Errors, requests and dialogs fail the test.
    """
    contexts = []
    errors = []

    def open_(widget, color="black"):
        context = browser.new_context(viewport={"width": 900, "height": 800})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on(
            "console",
            lambda message: (
                errors.append(message.text) if message.type == "error" else None
            ),
        )
        page.on("dialog", lambda dialog: errors.append(dialog.message))
        page.on(
            "request",
            lambda request: (
                errors.append(request.url)
                if not request.url.startswith("blob:")
                else None
            ),
        )

        def state():
            return {
                name: getattr(widget, name)
                for name in ("selection", "focus", "explanation")
            }

        def sync(sent):
            for name, value in sent.items():
                setattr(widget, name, value)
            return {
                name: value
                for name, value in state().items()
                if value != sent.get(name)
            }

        page.expose_function("sync", sync)
        page.set_content(f'<body style="color: {color}"><div id="cell"></div></body>')
        data = base64.b64encode(widget._data).decode()
        page.evaluate(OPEN, [widget._esm, widget._css, data, state(), 8])
        page.wait_for_timeout(150)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not errors


def pixels(page, x, y):
    """Return the position in the page of a point of the table, if the axes are the two columns."""
    box = page.locator(".scatter").bounding_box()
    ends = []
    for column in X.columns:
        low = X[column].min()
        high = X[column].max()
        ends.append((low - 0.07 * (high - low), high + 0.07 * (high - low)))
    u, v = (
        (value - low) / (high - low)
        for value, (low, high) in zip((x, y), ends, strict=True)
    )
    width = box["width"] - MARGIN["left"] - MARGIN["right"]
    height = box["height"] - MARGIN["top"] - MARGIN["bottom"]
    return box["x"] + MARGIN["left"] + u * width, box["y"] + MARGIN["top"] + (
        1 - v
    ) * height


def drag(page, corners):
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in corners[1:]:
        page.mouse.move(*corner, steps=4)
    page.mouse.up()
    page.wait_for_timeout(50)


def test_lasso_and_rectangle_select_objects(open_widget):
    widget = explore(PARTITION, X)
    page = open_widget(widget)
    x = X["length"]
    y = X["width"]
    left = np.flatnonzero(x < 5).tolist()
    drag(
        page,
        [
            pixels(page, *at)
            for at in ((-3.0, -3.0), (5.0, -3.0), (5.0, 10.0), (-3.0, 10.0))
        ],
    )
    assert widget.selection == left
    assert page.locator(".status").inner_text() == f"{len(left)} selected"
    page.click("text=Rectangle")
    page.keyboard.down("Control")
    drag(page, [pixels(page, *at) for at in ((5.0, 4.0), (12.0, -3.0))])
    page.keyboard.up("Control")
    assert widget.selection == sorted(
        {*left, *np.flatnonzero((x > 5) & (y < 4)).tolist()}
    )
    page.mouse.click(*pixels(page, 9.0, 6.0))
    page.wait_for_timeout(50)
    assert widget.selection == []
    page.click("text=Move")
    drag(page, [pixels(page, *at) for at in ((0.0, 0.0), (3.0, 3.0))])
    assert widget.selection == []


def test_legend_selects_sets(open_widget):
    widget = explore(PARTITION, X)
    page = open_widget(widget)
    entries = page.locator(".legend button")
    counts = np.bincount(PARTITION.best_set, minlength=len(PARTITION.focal_sets))
    assert entries.count() == (counts > 0).sum()
    entries.nth(0).click()
    page.wait_for_timeout(50)
    name = entries.nth(0).inner_text().split("\u00a0")[0]
    cluster = int(name.split()[1])
    assert widget.selection == PARTITION.lower(cluster).tolist()
    for k in range(1, entries.count()):
        entries.nth(k).click(modifiers=["Control"])
    page.wait_for_timeout(50)
    assert widget.selection == list(range(N))


def test_tooltip_and_explanation(open_widget):
    widget = explore(MODEL, X)
    page = open_widget(widget)
    page.mouse.move(*pixels(page, *X.iloc[20]))
    lines = page.locator(".tip").inner_text().splitlines()
    best = int(PARTITION.best_set[20])
    assert lines[0] == "plant 20"
    assert f"length: {X['length'].iloc[20]:.4g}" in lines
    first = lines[lines.index("masses:") + 1]
    assert first == f"{PARTITION.masses[20, best]:.2f} {lines[1]}"
    page.mouse.click(*pixels(page, *X.iloc[20]))
    page.wait_for_selector(".why >> text=Object plant 20")
    assert widget.focus == 20
    why = page.locator(".why").inner_text().splitlines()
    assert why[0].startswith(f"plant 20: mass {first}")
    assert why[1:] == explain_object(MODEL, X, "plant 20").to_text().splitlines()


def test_values_of_python_are_shown(open_widget):
    widget = explore(PARTITION, X)
    widget.selection = [0, 1, 2]
    widget.focus = 5
    page = open_widget(widget)
    assert page.locator(".status").inner_text() == "3 selected"
    assert "Object plant 5 is" in page.locator(".why").inner_text()
    page.evaluate("receive({ selection: [], focus: null, explanation: '' })")
    assert page.locator(".status").inner_text() == ""
    assert page.locator(".why").inner_text() == "Click an object to explain it."
    assert page.evaluate("(cleanup(), listening())") == 0


def test_axes_change(open_widget):
    widget = explore(PARTITION, X)
    page = open_widget(widget)
    page.select_option("select >> nth=1", label="length")
    drag(
        page,
        [
            pixels(page, -3.0, -3.0),
            pixels(page, 5.0, -3.0),
            pixels(page, 5.0, 10.0),
            pixels(page, -3.0, 10.0),
        ],
    )
    assert widget.selection == np.flatnonzero(X["length"] < 5).tolist()


def test_hostile_names_are_text(open_widget):
    widget = explore(PARTITION, X, names=[HOSTILE, "b", "c"])
    page = open_widget(widget)
    page.mouse.move(*pixels(page, *X.loc[HOSTILE]))
    page.mouse.click(*pixels(page, *X.loc[HOSTILE]))
    page.wait_for_selector(".why >> text=nearest certain object")
    assert widget.focus == 1
    assert HOSTILE in page.locator(".why").inner_text()
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hacked === undefined")


def test_theme_follows_the_text_of_the_notebook(open_widget):
    page = open_widget(explore(PARTITION, X), color="#eee")
    root = page.locator(".dempster-explorer")
    assert root.get_attribute("data-theme") == "dark"
    # Dark text, and the text of Abyss, Solarized Light and Solarized Dark in VS Code.
    for color, theme in (
        ("#222", "light"),
        ("#6688cc", "dark"),
        ("#657b83", "light"),
        ("#839496", "dark"),
    ):
        page.evaluate("color => { document.body.style.color = color; }", color)
        page.wait_for_timeout(100)
        assert root.get_attribute("data-theme") == theme, color
    page.set_viewport_size({"width": 360, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_many_objects(open_widget):
    n = 25_000
    labels = rng.integers(0, 3, n)
    partition = CredalPartition.from_hard(labels)
    widget = explore(partition, np.eye(3)[labels, :2] + 0.1 * rng.normal(size=(n, 2)))
    page = open_widget(widget)
    page.locator(".legend button").nth(0).click()
    page.wait_for_timeout(300)
    assert (
        widget.selection
        == np.flatnonzero(labels == np.bincount(labels).argmax()).tolist()
    )
