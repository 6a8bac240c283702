"""The page in a browser."""

import re
from io import BytesIO
from zipfile import ZipFile

import numpy as np
import pytest
from matplotlib.image import imread

from dempster.io import read_partition
from tests.apps.studio.browser import (
    cluster,
    counts,
    drag,
    enter,
    load_example,
    open_page,
    wait_for_map,
    wait_until,
    watch,
)
from tests.apps.studio.live import Client, limited_file_size, running_studio


@pytest.fixture
def iris_page(page):
    load_example(page, "iris")
    cluster(page)
    return page


@pytest.fixture(scope="module")
def kept_page(chromium, studio):
    with open_page(chromium, studio) as page:
        load_example(page, "iris")
        cluster(page)
        yield page


@pytest.fixture
def same_page(kept_page):
    """Return the page with a run of iris, shared by tests that add neither runs nor answers."""
    yield kept_page
    kept_page.keyboard.press("Escape")
    wait_until(lambda: selected(kept_page) == 0)
    for name in ("summary", "objects"):
        open_tab(kept_page, name)


def selected(page):
    """Return the number of selected objects that the map shows."""
    text = page.locator(".map-foot").inner_text()
    found = re.search(r"([\d,]+) objects? selected", text)
    if found:
        return int(found[1].replace(",", ""))
    return 0


def draw_lasso(page, corners):
    page.click(".map-bar >> text=Lasso")
    box = page.locator(".map-plot").bounding_box()
    places = [
        (box["x"] + u * box["width"], box["y"] + v * box["height"]) for u, v in corners
    ]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()


def open_tab(page, name):
    page.click(f"#tab-{name}")


# ---- load, run, stop -----------------------------------------------------------------------------


def test_load_and_cluster_a_table(page, tmp_path):
    table = tmp_path / "flowers; and more.csv"
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 8])
    table.write_text(
        "name;length;width\n"
        + "\n".join(f"f{k};{a:.3f};{b:.3f}" for k, (a, b) in enumerate(rows))
    )
    page.set_input_files("input[type=file] >> nth=0", table)
    page.wait_for_selector("#run:visible")
    assert page.locator(".columns input:checked").count() == 2
    cluster(page, "2", method="ecm")
    assert sum(counts(page)) == 80
    assert page.locator(".badge").inner_text().startswith("faithful")
    assert page.locator("#where").inner_text().startswith("flowers_ and more.csv")
    assert "80 objects" in page.locator("#panel-objects .grid-bar").inner_text()


def test_clusters_of_another_program(page):
    load_example(page, "iris")
    page.select_option("#method", "doubt")
    page.select_option("#labels", "species")
    page.click("#run")
    wait_for_map(page)
    assert sum(counts(page)) == 150
    assert "species, 3 clusters" in page.locator(".run-list").inner_text()
    assert "virginica" in page.locator(".legend").inner_text()


def test_drop_a_table(page):
    page.evaluate(
        """() => {
        const files = new DataTransfer();
        files.items.add(new File(["a,b\\n1,2\\n2,3\\n9,8\\n8,9\\n7,7\\n1,1\\n"], "dropped.csv"));
        window.dispatchEvent(new DragEvent("drop", {dataTransfer: files, cancelable: true}));
    }"""
    )
    page.wait_for_selector("#run:visible")
    assert "dropped.csv" in page.locator("#where").inner_text()


def test_stop_a_run(page, tmp_path):
    table = tmp_path / "noise.csv"
    np.savetxt(
        table,
        np.random.default_rng(0).normal(size=(800, 6)),
        delimiter=",",
        header="a,b,c,d,e,f",
        comments="",
    )
    page.set_input_files("input[type=file] >> nth=0", table)
    page.wait_for_selector("#run:visible")
    page.select_option("#method", "ecmdd")
    page.fill("#clusters", "12")
    page.click("text=All parameters")
    page.fill("[aria-label='n init']", "5000")
    page.press("[aria-label='n init']", "Tab")
    page.click("#run")
    page.wait_for_selector(".card .stop")
    page.click("#theme-button")  # The page is not blocked.
    assert page.get_attribute("html", "data-theme") == "dark"
    page.click(".card .stop")
    page.wait_for_selector("#run:enabled")
    assert page.locator(".run-list li").count() == 0
    cluster(page, "2", method="ecm")
    assert sum(counts(page)) == 800


def test_zoom_into_layers(page):
    """A layer changes the sets, and keeps the explained object, the selection and the view."""
    load_example(page, "iris")
    cluster(page, "12", method="ecm")
    fine = counts(page)
    n_sets = page.locator(".legend button").count()
    page.locator("#panel-objects .grid-row").nth(0).click()
    page.wait_for_selector("#panel-why .masses")
    page.select_option("#layer", index=page.locator("#layer option").count() - 1)
    wait_until(lambda: page.locator(".legend button").count() < n_sets)
    number = page.locator("#layer option:checked").inner_text()
    page.click("#tab-summary")
    assert number in page.locator("#panel-summary").inner_text()
    coarse = counts(page)
    assert sum(coarse) == sum(fine)
    assert coarse[1] <= fine[1]
    assert page.locator("#panel-objects .grid-row[data-focus]").count() == 1
    for name in ("why", "boundary", "teach", "export", "groups"):
        open_tab(page, name)
    page.wait_for_selector("#layered")
    page.select_option("#layer", index=0)
    wait_until(lambda: page.locator(".legend button").count() == n_sets)


def test_errors_are_shown(page):
    load_example(page, "iris")
    page.fill("#clusters", "some")
    page.press("#clusters", "Tab")
    page.click("#run")
    page.wait_for_selector("#toast:visible")
    assert "clusters must be" in page.locator("#toast").inner_text()


# ---- views ---------------------------------------------------------------------------------------


def test_hint_of_the_object_under_the_pointer(same_page):
    box = same_page.locator(".map-plot").bounding_box()
    found = False
    for v in np.linspace(0.15, 0.8, 14):  # At least one position has an object.
        same_page.mouse.move(
            box["x"] + 0.21 * box["width"], box["y"] + v * box["height"]
        )
        same_page.wait_for_timeout(40)
        if same_page.locator(".hint:visible").count():
            found = True
            break
    assert found
    same_page.wait_for_selector(".hint dl")
    assert re.search(
        r"in cluster|ambiguous|outlier", same_page.locator(".hint").inner_text()
    )


def test_sliders_recompute_without_requests(page, studio):
    load_example(page, "iris")
    cluster(page, method="ecm")  # CredalClustering has no mass on the empty set.
    before = counts(page)
    page.wait_for_selector("#panel-summary .chart")
    page.wait_for_timeout(300)
    requests = []
    page.on("request", lambda request: requests.append(request.url))

    def move(name, value):
        page.evaluate(
            "([id, v]) => { const s = document.getElementById(id); s.value = v; s.dispatchEvent(new Event('input')); }",
            [f"slider-{name}", value],
        )

    move("ambiguity", 0.6)
    wait_until(lambda: counts(page)[1] > before[1])
    assert sum(counts(page)) == sum(before) == 150
    move("ambiguity", -1)
    wait_until(lambda: counts(page)[1] == 0)
    move("outliers", 0.9)
    wait_until(lambda: counts(page)[2] > before[2])
    assert not requests
    with page.expect_response("**/settings"):
        page.click("#panel-summary >> text=Reset")
    wait_until(lambda: counts(page) == before)
    move("ambiguity", -1)
    with page.expect_response("**/settings"):
        page.dispatch_event("#slider-ambiguity", "change")
    wait_until(lambda: counts(page)[1] == 0)
    shown = counts(page)
    with open_page(page.context.browser, studio) as other:  # another profile
        other.goto(page.url)
        other.reload()
        other.wait_for_selector("body[data-ready]")
        wait_for_map(other)
        wait_until(lambda: counts(other) == shown)
    assert (
        "share of objects retained"
        in page.locator("#panel-summary .chart").text_content()
    )


@pytest.mark.long
def test_planes_masses_and_hulls(same_page):
    same_page.select_option("#plane", "attributes")
    same_page.wait_for_selector("[aria-label=Across]")
    same_page.select_option("[aria-label=Across]", "2")
    same_page.click(".map-bar >> text=Masses")
    same_page.wait_for_selector(".map-bar button[aria-pressed=true] >> text=Masses")
    same_page.select_option("#plane", "pca")
    same_page.wait_for_selector(".badge")
    assert re.search(
        "faithful|fair|distorted", same_page.locator(".badge").inner_text()
    )


def test_diagnostics(same_page):
    open_tab(same_page, "groups")
    same_page.wait_for_selector("#panel-groups .heat td")
    open_tab(same_page, "fit")
    same_page.wait_for_selector("#panel-fit tr[data-selected] >> text=selected")
    assert same_page.locator("#panel-fit canvas").count() > 1
    open_tab(same_page, "convergence")
    same_page.wait_for_selector(
        "#panel-convergence >> text=The selected candidate converged after"
    )
    open_tab(same_page, "number")
    same_page.click("#compare-numbers")
    same_page.wait_for_selector(
        "#panel-number >> text=expected agreement with the true clusters"
    )
    same_page.click("#panel-number >> text=/^Use /")
    assert same_page.input_value("#clusters").isdigit()


def test_shepard_diagram(page):
    load_example(page, "butterfly")
    cluster(page, "2", method="evclus")
    page.click("#drawer >> text=Shepard")
    page.wait_for_selector("#panel-fit >> text=pairs of objects")


def test_focus_stays_on_the_heading_that_sorts(same_page):
    open_tab(same_page, "objects")
    heading = same_page.locator("#panel-objects [role=columnheader] button").nth(1)
    heading.press("Enter")
    same_page.wait_for_selector("[aria-sort=ascending] >> text=assigned to")
    focused = "document.activeElement.textContent"
    assert same_page.evaluate(focused) == "assigned to ↑"


def test_another_table_after_a_run(iris_page, tmp_path):
    rng = np.random.default_rng(0)
    table = np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 9])
    np.save(tmp_path / "few.npy", table)
    iris_page.set_input_files("input[type=file]", str(tmp_path / "few.npy"))
    iris_page.wait_for_selector(".setup >> text=few.npy")
    cluster(iris_page, "2")  # The fixture fails if a script fails.
    wait_until(lambda: counts(iris_page)[0] > 30)


def test_start_from_peaks(page):
    load_example(page, "fourclass")
    open_tab(page, "peaks")
    page.click("#find-peaks")
    page.wait_for_selector("#start-bpec:enabled")
    assert page.locator("#panel-peaks .scatter").bounding_box()["height"] >= 240
    drag(page, "#panel-peaks .scatter", (0.62, 0.02), (0.99, 0.55))
    page.wait_for_timeout(200)
    chosen = int(
        re.match(r"(\d+) center", page.locator("#panel-peaks .grid-bar").inner_text())[
            1
        ]
    )
    assert 1 <= chosen <= 10
    page.click("#start-bpec")
    page.wait_for_selector(".run-list li")
    wait_for_map(page)
    assert page.locator("#panel-summary h2").inner_text() == f"BPEC, {chosen} clusters"


# ---- explain and select --------------------------------------------------------------------------


def test_explain_an_object(same_page):
    same_page.click(".grid-row >> nth=3")
    same_page.wait_for_selector("#panel-why .pull")
    text = same_page.locator("#panel-why").inner_text()
    assert "Nearest certain objects" in text
    open_tab(same_page, "boundary")
    same_page.wait_for_selector("#panel-boundary .boundary-list button")
    assert " if " in same_page.locator("#panel-boundary table").inner_text()


def test_brush_and_rule(iris_page):
    iris_page.keyboard.press("r")
    drag(iris_page, ".map-plot", (0.1, 0.03), (0.4, 0.85))
    iris_page.wait_for_selector(".map-foot >> text=/objects? selected/")
    n = selected(iris_page)
    assert 40 <= n <= 60  # setosa
    assert (
        f"{n} selected of 150"
        in iris_page.locator("#panel-objects .grid-bar").inner_text()
    )
    open_tab(iris_page, "selection")
    iris_page.click("text=Find a rule")
    iris_page.wait_for_selector(".rule-text")
    rule = iris_page.locator(".rule-text").inner_text()
    assert re.search(r"\(cm\) from [\d.]+ to [\d.]+", rule)
    iris_page.click("text=Save the rule")
    iris_page.wait_for_selector(".rule-list li")
    iris_page.keyboard.press("Escape")
    wait_until(lambda: selected(iris_page) == 0)
    iris_page.click(".rule-list .link")
    iris_page.wait_for_selector(".map-foot >> text=/objects? selected/")
    assert abs(selected(iris_page) - n) <= 3
    iris_page.click("#panel-selection >> text=Cluster only these")
    iris_page.wait_for_function(
        "() => document.querySelectorAll('.run-list li').length === 2"
    )
    wait_for_map(iris_page)
    open_tab(iris_page, "summary")
    wait_until(lambda: sum(counts(iris_page)) < 70)


@pytest.mark.long
def test_lasso(same_page):
    draw_lasso(
        same_page, [(0.1, 0.05), (0.42, 0.05), (0.42, 0.85), (0.1, 0.85), (0.1, 0.06)]
    )
    same_page.wait_for_selector(".map-foot >> text=/objects? selected/")
    assert 40 <= selected(same_page) <= 60


# ---- teach, compare, export ----------------------------------------------------------------------


def test_answer_questions_by_keys(iris_page):
    open_tab(iris_page, "teach")
    iris_page.wait_for_selector("#answer-same")
    first = iris_page.locator(".question").inner_text()
    assert "expected to remove" in iris_page.locator("#panel-teach").inner_text()
    iris_page.keyboard.press("d")
    iris_page.wait_for_selector(".said-list li >> text=different")
    iris_page.wait_for_function(
        "text => document.querySelector('.question')?.innerText !== text", arg=first
    )
    iris_page.click("#answer-same")
    iris_page.wait_for_function(
        "() => document.querySelectorAll('.said-list li').length === 2"
    )
    iris_page.keyboard.press("u")
    iris_page.wait_for_function(
        "() => document.querySelectorAll('.said-list li').length === 1"
    )
    iris_page.click("#refit")
    iris_page.wait_for_selector("#panel-teach >> text=What changed")
    names = iris_page.locator(".run-list .open .set-label").all_inner_texts()
    # Only EVCLUS uses the answers.
    assert names == ["EVCLUS, 3 clusters", "CredalClustering, 3 clusters"]
    open_tab(iris_page, "compare")
    iris_page.wait_for_selector("#panel-compare >> text=Agreement")


def test_contradictions(iris_page):
    iris_page.evaluate(
        """async () => {
        const {post} = await import("/static/core/api.js");
        await post("/answers", {first: 0, second: 1, answer: "same"});
        await post("/answers", {first: 1, second: 2, answer: "same"});
        await post("/answers", {first: 0, second: 2, answer: "different"});
    }"""
    )
    open_tab(iris_page, "teach")
    iris_page.wait_for_selector(".contradiction")
    assert "0 – 1 – 2" in iris_page.locator(".contradiction").inner_text()
    assert iris_page.locator("#refit").is_disabled()


def test_exports(same_page):
    open_tab(same_page, "export")
    same_page.wait_for_selector("#export-code")
    assert (
        "CredalClustering(n_clusters=3"
        in same_page.locator("#export-code").inner_text()
    )
    assert (
        same_page.locator("#export-command")
        .inner_text()
        .startswith("dempster cluster iris.csv -c 3")
    )
    with same_page.expect_download() as started:
        same_page.click("text=Partition (CSV)")
    assert started.value.suggested_filename == "iris.partition.csv"


def test_exports_are_those_of_the_screen(same_page, tmp_path):
    for name, value in (("ambiguity", 0.5), ("outliers", 0.4)):
        same_page.evaluate(
            "([id, v]) => { const s = document.getElementById(id); s.value = v; s.dispatchEvent(new Event('input')); }",
            [f"slider-{name}", value],
        )
    same_page.wait_for_timeout(200)
    shown = counts(same_page)
    open_tab(same_page, "export")
    same_page.wait_for_selector("#weighted")
    assert (
        "--outlier-weight 6.31 --ambiguity-weight 10.0"
        in same_page.locator("#export-command").inner_text()
    )
    with same_page.expect_download() as started:
        same_page.click("text=Partition (CSV)")
    started.value.save_as(tmp_path / "shown.csv")
    partition = read_partition(tmp_path / "shown.csv")
    sizes = partition.focal_sets.cardinality[partition.best_set]
    assert shown == [(sizes == 1).sum(), (sizes > 1).sum(), (sizes == 0).sum()]
    open_tab(same_page, "summary")
    same_page.click("#panel-summary >> text=Reset")


# ---- security, reload, keyboard, narrow windows, WebGL -------------------------------------------


def test_hostile_strings_stay_text(page, tmp_path):
    bad = '<img src=x onerror="window.hacked=1">'
    table = tmp_path / "<img src=x onerror=alert(1)>.csv"
    header = (
        'name,"<script>window.hacked=2</script>","""><svg onload=window.hacked=3>",kind'
    )
    rows = [
        f'"{bad.replace(chr(34), chr(34) * 2)}{k}",{k % 7 + k % 2 * 20},{k % 5},"</td>{k % 3}"'
        for k in range(40)
    ]
    table.write_text("\n".join([header, *rows]))
    page.set_input_files("input[type=file] >> nth=0", table)
    page.wait_for_selector("#run:visible")
    cluster(page, "2")
    for row in (0, 1):
        page.click(f".grid-row >> nth={row}")
    page.wait_for_selector("#panel-why .masses")
    for name in ("groups", "objects", "boundary", "teach", "export", "selection"):
        open_tab(page, name)
        page.wait_for_timeout(150)
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img").count() == 0
    assert "<script>window.hacked=2</script>" in page.locator(".columns").inner_text()


def test_directions_of_writing_are_shown(page, tmp_path):
    table = tmp_path / "table.csv"
    rows = [f"{k % 7 + k % 2 * 20},{k % 5}" for k in range(30)]
    table.write_text("\n".join(["\u202elive,y", *rows]), encoding="utf-8")
    page.set_input_files("input[type=file] >> nth=0", table)
    page.wait_for_selector("#run:visible")
    assert "\\u202elive" in page.locator(".columns").inner_text()
    cluster(page, "2", method="ecm")
    assert "\u202e" not in page.locator("body").inner_text()


def test_reload_keeps_the_state(iris_page):
    iris_page.click(".legend button >> nth=1")
    iris_page.wait_for_selector(".map-foot >> text=/objects? selected/")
    n = selected(iris_page)
    iris_page.wait_for_timeout(400)  # The selection is sent with a delay.
    iris_page.reload()
    iris_page.wait_for_selector("body[data-ready]")
    wait_for_map(iris_page)
    assert "?" not in iris_page.url
    assert iris_page.input_value("#clusters") == "3"
    iris_page.wait_for_selector(".map-foot >> text=/objects? selected/")
    assert selected(iris_page) == n
    assert sum(counts(iris_page)) == 150


def test_deleted_runs_are_restored_and_sessions_continue(page, studio):
    load_example(page, "butterfly")
    cluster(page, "2", method="ecm")
    shown = counts(page)
    page.click(".run-list [aria-label^=Delete]")
    page.wait_for_selector(".map-empty:visible")
    assert "deleted the run 1" in page.locator("#toast").inner_text()
    page.click("#undo-button")
    wait_for_map(page)
    assert counts(page) == shown
    assert not page.locator("#undo-button").is_visible()
    page.click("text=Row names, known classes, notes")
    names = "[aria-label='Column with the names of the rows']"
    page.select_option(names, index=1)
    page.wait_for_selector("#toast:has-text('was clustered in the run 1')")
    assert counts(page) == shown
    address = page.url
    with watch(page.context.new_page()) as other:
        page.close()
        other.goto(address)
        other.wait_for_selector("body[data-ready]")
        wait_for_map(other)
        assert other.url == address
        assert counts(other) == shown
        with other.expect_download() as started:
            other.click("#save-session")
        assert started.value.suggested_filename == "butterfly.studio.zip"


def banner(page):
    return page.wait_for_selector(".banner").inner_text()


def test_a_session_opened_elsewhere(page, studio):
    load_example(page, "butterfly")
    cluster(page, "2", method="ecm")
    shown = counts(page)
    with watch(page.context.new_page()) as other:
        other.goto(page.url)
        other.wait_for_selector("body[data-ready]")
        wait_for_map(other)
        assert counts(other) == shown
        assert "Opened elsewhere" in banner(page)
        page.click("text=Continue here")
        assert "Opened elsewhere" in banner(other)
    page.wait_for_selector("body[data-ready]")
    wait_for_map(page)
    assert page.locator(".banner").count() == 0
    tab = Client(studio)  # a tab of another browser
    tab.open(open=page.url.rpartition("#")[2])
    tab.post("/answers", {"first": 0, "second": 11, "answer": "different"})
    open_tab(page, "teach")
    page.click("#answer-same")
    assert "Opened elsewhere" in banner(page)
    with page.expect_download():
        page.click("text=Save a copy")
    assert len(tab.get("/answers").json()["answers"]) == 1
    page.click("text=Continue here")
    page.wait_for_selector("body[data-ready]")
    wait_for_map(page)
    open_tab(page, "teach")
    page.wait_for_selector("text=Answers (1 used)")


def test_what_is_not_saved_is_shown(page):
    load_example(page, "iris")
    with limited_file_size(8000):
        cluster(page, "3", method="ecm")
        assert "Not saved: run 1 (File too large)" in banner(page)
        with page.expect_download() as started:
            page.click("text=Save session elsewhere")
    assert "run1.npy" in ZipFile(started.value.path()).namelist()
    page.click(".banner button >> text=Try again")
    page.wait_for_selector(".banner", state="detached")


def test_a_changed_table_is_shown(chromium, tmp_path):
    table = tmp_path / "own.csv"
    lines = [f"{k % 2 * 9 + k / 100},{k % 7}" for k in range(30)]
    table.write_text("\n".join(["x,y", *lines]))
    with (
        running_studio(table, tmp_path / "sessions") as guard,
        open_page(chromium, guard) as page,
    ):
        cluster(page, "2", method="ecm")
        table.write_text("\n".join(["x,y", *lines[:20]]))
        page.reload()
        wait_for_map(page)
        assert "own.csv has changed" in banner(page)
        assert sum(counts(page)) == 30
        page.click("text=Cluster the new table")
        page.wait_for_selector(".banner", state="detached")
        assert page.locator(".run-list li").count() == 0
        cluster(page, "2", method="ecm")
        assert sum(counts(page)) == 20
        page.click("#undo-button")
        assert "own.csv has changed" in banner(page)
        page.click("text=Keep the copy")
        page.wait_for_selector(".banner", state="detached")
        wait_until(lambda: sum(counts(page)) == 30)


def test_cluster_waits_for_the_table(page):
    load_example(page, "butterfly")
    held = []
    page.route("**/file?name=*", lambda route: held.append(route))
    content = "x,y\n" + "".join(f"{k % 2 * 9},{k}\n" for k in range(20))
    file = {"name": "late.csv", "mimeType": "text/csv", "buffer": content.encode()}
    page.set_input_files("#setup input[type=file]", file)
    page.wait_for_selector("#run:disabled >> text=Reading the table")
    page.keyboard.press("c")
    held[0].continue_()
    page.wait_for_selector("#run:enabled")
    assert page.locator(".where strong").inner_text() == "late.csv"
    cluster(page, "2", method="ecm")
    assert page.locator(".run-list li").count() == 1
    assert sum(counts(page)) == 20


@pytest.mark.long
def test_two_tabs(iris_page, studio):
    with watch(iris_page.context.new_page()) as other:
        enter(other, studio)
        assert other.locator(".welcome").count() == 1
        load_example(other, "butterfly")
        cluster(other, "2", method="ecm")
        assert sum(counts(other)) == 12
        iris_page.reload()
        iris_page.wait_for_selector("body[data-ready]")
        wait_for_map(iris_page)
        assert sum(counts(iris_page)) == 150


def test_keyboard(same_page):
    same_page.keyboard.press("n")
    same_page.wait_for_selector("#panel-why .masses")
    first = same_page.locator("#panel-why h2").inner_text()
    same_page.keyboard.press("n")
    same_page.wait_for_function(
        "text => document.querySelector('#panel-why h2').innerText !== text", arg=first
    )
    same_page.keyboard.press("l")
    same_page.wait_for_selector(".map-bar button[aria-pressed=true] >> text=Lasso")
    same_page.keyboard.press("?")
    same_page.wait_for_selector("dialog[open]")
    same_page.keyboard.press("Escape")
    same_page.focus("#tab-why")
    same_page.keyboard.press("ArrowRight")
    same_page.wait_for_selector("#panel-review:visible")
    same_page.click("#tour-button")
    for _ in range(4):
        same_page.wait_for_selector(".tour-card")
        same_page.keyboard.press("Enter")
    # The last step has only the buttons Close and Back.
    same_page.keyboard.press("Enter")
    assert same_page.locator(".tour-card").count() == 0


@pytest.mark.parametrize(
    "scheme", ["light", pytest.param("dark", marks=pytest.mark.long)]
)
def test_narrow_window(chromium, studio, scheme):
    context = chromium.new_context(
        viewport={"width": 420, "height": 800}, color_scheme=scheme
    )
    with watch(context.new_page()) as page:
        enter(page, studio)
        assert page.get_attribute("html", "data-theme") == scheme
        page.click(".only-narrow >> text=butterfly")
        page.wait_for_selector("#run:visible")
        page.fill("#clusters", "2")
        page.press("#clusters", "Tab")
        page.click("#run")
        page.wait_for_selector(".map-plot:visible")
        for name in ("setup", "map", "drawer", "side"):
            page.click(f"#pages [data-page={name}]")
            assert page.evaluate("document.documentElement.scrollWidth") <= 420
        assert sum(counts(page)) == 12
        page.click("#pages [data-page=drawer]")
        page.click(".grid-row >> nth=0")
        page.wait_for_selector("#panel-why .masses:visible")
        page.click("#pages [data-page=setup]")
        page.focus(".skip")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "map-area"
    context.close()


def count_point_colors(page):
    """Count the saturated colors that many pixels of the map have, without hulls."""
    page.click(".map-bar >> text=Hulls")
    page.wait_for_timeout(200)
    picture = imread(BytesIO(page.locator(".map-plot").screenshot()))[:, :, :3].reshape(
        -1, 3
    )
    strong = picture[np.ptp(picture, axis=1) > 0.35]
    return int((np.unique(strong.round(2), axis=0, return_counts=True)[1] > 100).sum())


def test_map_without_webgl(page):
    load_example(page, "fourclass")
    cluster(page, "4", method="ecm")
    page.wait_for_selector(".map-foot >> text=drawn without WebGL")
    assert count_point_colors(page) >= 4


def test_map_with_webgl(webgl_page):
    load_example(webgl_page, "fourclass")
    cluster(webgl_page, "4", method="ecm")
    assert webgl_page.locator(".map-foot >> text=drawn without WebGL").count() == 0
    assert count_point_colors(webgl_page) >= 4
    draw_lasso(
        webgl_page, [(0.1, 0.1), (0.9, 0.1), (0.9, 0.9), (0.1, 0.9), (0.1, 0.12)]
    )
    webgl_page.wait_for_selector(".map-foot >> text=/objects? selected/")
    assert 100 < selected(webgl_page) <= 400


@pytest.mark.long
def test_a_hundred_thousand_objects(webgl_page, tmp_path):
    page = webgl_page
    rng = np.random.default_rng(0)
    places = rng.normal(size=(4, 3)) * 6
    points = places[rng.integers(4, size=100_000)] + rng.normal(size=(100_000, 3))
    table = tmp_path / "many.npy"
    np.save(table, points.astype(np.float32))
    page.set_input_files("input[type=file] >> nth=0", table)
    page.wait_for_selector("#run:visible")
    cluster(page, "4", method="ecm")
    assert sum(counts(page)) == 100_000
    page.click(".legend button >> nth=0")
    page.wait_for_selector(".map-foot >> text=/objects? selected/")
    assert selected(page) > 10_000
    page.click("#theme-button")
    assert page.get_attribute("html", "data-theme") == "dark"
