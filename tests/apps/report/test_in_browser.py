"""Reports in a browser: layout, interaction, accessibility and security."""

import pandas as pd
import pytest

from tests.apps.report.browser import launch_browser
from tests.apps.report.cases import HOSTILE, hostile_report, many_report, wine_report

WIDTHS = {"wide": 1280, "phone": 360}


@pytest.fixture(scope="module")
def browser(playwright):
    browser = launch_browser(playwright)
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    reports = {"wine": wine_report, "hostile": hostile_report, "many": many_report}
    return {
        name: make().save(folder / f"{name}.html") for name, make in reports.items()
    }


@pytest.fixture
def open_report(browser, files):
    """Open a report; errors in the browser, and requests, fail the test."""
    contexts = []
    errors = []

    def open_(name, *, width=1280, **options):
        context = browser.new_context(
            viewport={"width": width, "height": 800}, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console",
            lambda message: (
                errors.append(message.text)
                if message.type in ("error", "warning")
                else None
            ),
        )
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on(
            "request",
            lambda request: (
                errors.append(request.url)
                if not request.url.startswith("file:")
                else None
            ),
        )
        page.on("dialog", lambda dialog: errors.append(dialog.message))
        page.goto(files[name].as_uri())
        page.wait_for_timeout(150)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not errors


def map_image(page):
    """Return the layers of the map as a data URL."""
    return page.evaluate(
        """() => {
            const [behind, middle, front] = document.querySelectorAll("#plot canvas");
            const copy = document.createElement("canvas");
            [copy.width, copy.height] = [front.width, front.height];
            const pen = copy.getContext("2d"), ratio = front.width / front.clientWidth;
            pen.drawImage(behind, 0, 0);
            pen.drawImage(middle, ratio * middle.offsetLeft, ratio * middle.offsetTop);
            pen.drawImage(front, 0, 0);
            return copy.toDataURL();
        }"""
    )


def count_colored_pixels(page):
    return page.evaluate(
        """() => {
            const canvas = document.querySelectorAll("#plot canvas")[1];
            const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
            copy.drawImage(canvas, 0, 0);
            const {data} = copy.getImageData(0, 0, canvas.width, canvas.height);
            let n = 0;
            for (let i = 0; i < data.length; i += 4) {
                const [r, g, b, a] = data.slice(i, i + 4);
                if (a > 99 && Math.max(r, g, b) - Math.min(r, g, b) > 60) n++;
            }
            return n;
        }"""
    )


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize(
    "name",
    [
        "wine",
        pytest.param("hostile", marks=pytest.mark.long),
        pytest.param("many", marks=pytest.mark.long),
    ],
)
def test_page_fits_without_errors(open_report, name, width):
    page = open_report(name, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for _ in range(50):  # The map is drawn later on a busy machine.
        if count_colored_pixels(page) > 100:
            break
        page.wait_for_timeout(100)
    assert count_colored_pixels(page) > 100
    assert page.locator("nav").is_visible()


def test_hostile_names_do_not_run(open_report):
    page = open_report("hostile")
    assert page.evaluate("window.hacked === undefined")
    for head in page.locator("table.sortable thead button").all():
        head.click()
    for box in page.locator("input[type=search]").all():
        box.fill("<img src=x onerror=window.hacked=8>")
        box.fill("")
    for menu in ("#axis-x", "#axis-y"):
        for option in range(page.locator(f"{menu} option").count()):
            page.select_option(menu, index=option)
            page.wait_for_timeout(20)
    canvas = page.locator("#map").bounding_box()
    page.locator("#map").scroll_into_view_if_needed()
    for k in range(1, 20):
        page.mouse.move(canvas["x"] + k * canvas["width"] / 20, 400)
    assert page.evaluate("window.hacked === undefined")
    assert page.title() == HOSTILE[1]
    assert page.locator("h1").inner_text() == HOSTILE[1]
    assert page.locator("img").count() == 0


def test_policy_blocks_injected_scripts(browser, files, tmp_path):
    page = files["wine"].read_text(encoding="utf-8")
    bad = "<script>window.hacked=1</script><img src=x onerror='window.hacked=2'><h1 onclick='window.hacked=3'>"
    file = tmp_path / "bad.html"
    file.write_text(page.replace("<main>", f"<main>{bad}", 1), encoding="utf-8")
    open_report = browser.new_page()
    open_report.goto(file.as_uri())
    open_report.locator("h1").first.click()
    assert open_report.evaluate("window.hacked === undefined")
    open_report.close()


def test_tooltip(open_report):
    page = open_report("wine")
    page.locator("#map").scroll_into_view_if_needed()
    link = page.locator("#ambiguous-table [data-object]").first
    name = link.inner_text()
    link.click()
    page.wait_for_timeout(150)
    tip = page.locator("#tip")
    assert tip.is_visible()
    lines = tip.inner_text().splitlines()
    assert lines[0] == name
    assert lines[1].startswith("between ")
    page.mouse.move(5, 5)


def test_link_shows_distant_object(open_report):
    page = open_report("hostile")
    assert page.locator("#outside").inner_text().strip() == "1 object is out of view."
    page.locator("#outlier-table [data-object]").click()
    page.wait_for_timeout(150)
    assert page.locator("#outside").inner_text().strip() == ""
    assert page.locator("#tip").inner_text().splitlines()[1] == "outlier"


def test_zoom_and_menus(open_report):
    page = open_report("wine")
    before = map_image(page)
    page.click("[data-zoom=in]")
    page.wait_for_timeout(100)
    nearer = map_image(page)
    assert nearer != before
    page.click("[data-zoom=reset]")
    page.wait_for_timeout(100)
    assert map_image(page) == before
    page.select_option("#axis-x", label="alcohol")
    page.wait_for_timeout(100)
    assert map_image(page) != before
    page.focus("#map")
    page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("0")


def test_legend_filters_objects(open_report):
    page = open_report("wine")
    whole = count_colored_pixels(page)
    page.click("[data-all='0']")
    page.wait_for_timeout(100)
    assert count_colored_pixels(page) < whole / 20
    page.locator("[data-show='0']").check()
    page.wait_for_timeout(100)
    assert 0 < count_colored_pixels(page) < whole


def test_sorting_and_searching_tables(open_report):
    page = open_report("wine")
    head = page.locator("#ambiguous-table thead th").nth(2)

    def doubts():
        return [
            float(cell)
            for cell in page.locator(
                "#ambiguous-table tbody tr td:nth-child(3)"
            ).all_inner_texts()
            if cell
        ]

    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert doubts() == sorted(doubts())
    rows = page.locator("#ambiguous-table tbody tr")
    assert (
        0
        < page.locator("#ambiguous-table tbody tr:visible").count()
        <= 10
        < rows.count()
    )
    page.click("[data-more=ambiguous-table]")
    assert page.locator("#ambiguous-table tbody tr:visible").count() == rows.count()
    name = rows.nth(3).locator("th").inner_text()
    page.fill("[data-table=ambiguous-table]", name)
    assert 1 <= page.locator("#ambiguous-table tbody tr:visible").count() < rows.count()
    assert (
        f"of {rows.count()} rows" in page.locator("#ambiguous-table-found").inner_text()
    )


def test_copying_code(open_report):
    page = open_report("wine", permissions=["clipboard-read", "clipboard-write"])
    page.click("[data-copy=code]")
    page.wait_for_timeout(100)
    assert (
        page.evaluate("navigator.clipboard.readText()")
        == page.locator("#code").inner_text()
    )
    assert page.locator("[data-copy=code]").inner_text() == "Copied"


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_color_scheme(open_report, scheme):
    page = open_report("wine", color_scheme=scheme)
    light = "rgb(255, 255, 255)"
    assert (background(page) == light) == (scheme == "light")
    page.click("#theme")
    assert (background(page) == light) == (scheme == "dark")
    page.reload()
    assert (background(page) == light) == (scheme == "dark")
    page.emulate_media(media="print")
    assert background(page) == light
    assert page.locator(".static-map").is_visible()
    assert not page.locator("nav").is_visible()


def test_contrast(open_report):
    """The contrast of text is at least 4.5 (WCAG)."""
    for scheme in ("light", "dark"):
        page = open_report("wine", color_scheme=scheme)
        worst = page.evaluate(
            """() => {
                const light = (c) => {
                    const v = c.match(/\\d+/g).slice(0, 3).map((x) => x / 255);
                    const [r, g, b] = v.map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
                    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
                };
                const background = light(getComputedStyle(document.body).backgroundColor);
                const words = document.querySelectorAll("p, a, th, small, summary, figcaption, dt, dd, li");
                const ratios = [...words].map((e) => {
                    const ink = light(getComputedStyle(e).color);
                    return (Math.max(ink, background) + 0.05) / (Math.min(ink, background) + 0.05);
                });
                return Math.min(...ratios);
            }"""
        )
        assert worst >= 4.5


def test_without_script(open_report):
    page = open_report("wine", java_script_enabled=False)
    assert page.locator(".static-map").is_visible()
    assert not page.locator("#map").is_visible()
    assert page.locator("#ambiguous-table tbody tr").last.is_visible()
    assert not page.locator("[data-copy]").first.is_visible()


def test_keyboard_navigation(open_report):
    page = open_report("wine")
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.add(
            page.evaluate("document.activeElement.id || document.activeElement.tagName")
        )
    assert {"A", "theme", "axis-x", "axis-y", "map", "BUTTON", "INPUT"} <= seen


def test_print(open_report, tmp_path):
    page = open_report("many")
    page.pdf(path=tmp_path / "many.pdf", format="A4")
    pages = (tmp_path / "many.pdf").read_bytes().count(b"/Type /Page\n") or 1
    assert pages < 40


# ---- many clusters -------------------------------------------------------------------------------


def visible_labels(page):
    return page.locator(".legend:visible label").all_inner_texts()


def test_many_clusters_have_layers_and_a_search_field(open_report):
    page = open_report("many")
    numbers = page.locator("#layer option").all_inner_texts()
    assert numbers[0] == "60 clusters"
    assert page.locator("nav a").first.inner_text() == "Layers"
    shown = page.locator("#layer option:checked").inner_text()
    assert int(shown.split()[0]) <= 20
    assert 2 <= len(visible_labels(page)) <= 22
    coarse = map_image(page)
    page.select_option("#layer", index=0)
    page.wait_for_timeout(150)
    fine = map_image(page)
    assert fine != coarse
    assert page.locator(".legend:visible input[type=checkbox]").count() <= 2
    page.fill("#find-cluster", "cluster 7")
    page.wait_for_timeout(150)
    assert 0 < count_colored_pixels(page) < 3000
    page.fill("#find-cluster", "")
    page.wait_for_timeout(150)
    assert map_image(page) == fine


# ---- check list ----------------------------------------------------------------------------------


def test_doubtful_objects_are_checked_and_saved(open_report):
    page = open_report("hostile", accept_downloads=True)
    boxes = page.locator("[data-check]")
    n = boxes.count()
    assert n == page.locator(".locator").count() > 2
    assert page.locator("#checked").inner_text() == f"0 of {n} checked"
    boxes.nth(0).check()
    page.locator(".checked input[type=text]").nth(0).fill('=1+1, "so"')
    assert page.locator("#checked").inner_text() == f"1 of {n} checked"
    page.reload()
    page.wait_for_timeout(150)
    assert page.locator("#checked").inner_text() == f"1 of {n} checked"
    assert (
        page.locator(".checked input[type=text]").nth(0).input_value() == '=1+1, "so"'
    )
    with page.expect_download() as started:
        page.click("#save-review")
    assert started.value.suggested_filename == "review.csv"
    rows = pd.read_csv(started.value.path(), keep_default_na=False)
    assert list(rows.columns) == [
        *("object", "cluster", "possible clusters", "doubt", "checked", "note")
    ]
    assert len(rows) == n
    assert rows["checked"].tolist() == ["yes", *[""] * (n - 1)]
    assert rows["note"][0] == '\'=1+1, "so"'
    assert not rows["object"].str.startswith(tuple("=+-@")).any()


def test_printed_lists_have_boxes_to_tick(open_report):
    page = open_report("wine")
    page.emulate_media(media="print")
    box = "getComputedStyle(document.querySelector('.checked'), '::before').content"
    assert page.evaluate(box) == '"☐"'
    assert not page.locator(".checked input").first.is_visible()
