"""Reports in a real browser: what moves, what is read aloud, what fits, and that nothing hostile runs."""

import pytest

from tests.report.browser import launched
from tests.report.cases import HOSTILE, hostile_report, many_report, wine_report

WIDTHS = {"wide": 1280, "phone": 360}


@pytest.fixture(scope="module")
def browser(playwright):
    found = launched(playwright)
    yield found
    found.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    made = {"wine": wine_report, "hostile": hostile_report, "many": many_report}
    return {name: make().save(folder / f"{name}.html") for name, make in made.items()}


@pytest.fixture
def opened(browser, files):
    """Open a report; complaints of the browser, and whatever is asked from elsewhere, fail the test."""
    contexts, complaints = [], []

    def open_(name, *, width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request", lambda request: complaints.append(request.url) if not request.url.startswith("file:") else None
        )
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.goto(files[name].as_uri())
        page.wait_for_timeout(150)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not complaints


def pixels(page):
    """The layers of the map, one over the other, as an image in a URL."""
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


def drawn(page):
    """How many pixels of the map have a color that is neither paper, ink nor grey."""
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
    "name", ["wine", pytest.param("hostile", marks=pytest.mark.long), pytest.param("many", marks=pytest.mark.long)]
)
def test_the_page_fits_and_nothing_complains(opened, name, width):
    page = opened(name, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert drawn(page) > 100
    assert page.locator("nav").is_visible()


def test_nothing_hostile_runs(opened):
    page = opened("hostile")
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


def test_an_injected_script_would_not_run(browser, files, tmp_path):
    """Were something to slip through, the policy of the page would still stop it."""
    page = files["wine"].read_text(encoding="utf-8")
    bad = "<script>window.hacked=1</script><img src=x onerror='window.hacked=2'><h1 onclick='window.hacked=3'>"
    file = tmp_path / "bad.html"
    file.write_text(page.replace("<main>", f"<main>{bad}", 1), encoding="utf-8")
    opened = browser.new_page()
    opened.goto(file.as_uri())
    opened.locator("h1").first.click()
    assert opened.evaluate("window.hacked === undefined")
    opened.close()


def test_hovering_tells_who_it_is(opened):
    page = opened("wine")
    page.locator("#map").scroll_into_view_if_needed()
    link = page.locator("#torn-table [data-object]").first
    name = link.inner_text()
    link.click()
    page.wait_for_timeout(150)
    told = page.locator("#tip")
    assert told.is_visible()
    lines = told.inner_text().splitlines()
    assert lines[0] == name
    assert lines[1].startswith("between ")
    page.mouse.move(5, 5)


def test_an_object_far_away_is_out_of_view_until_it_is_asked_for(opened):
    page = opened("hostile")
    assert page.locator("#outside").inner_text().strip() == "1 object is out of view."
    page.locator("#outlier-table [data-object]").click()
    page.wait_for_timeout(150)
    assert page.locator("#outside").inner_text().strip() == ""
    assert page.locator("#tip").inner_text().splitlines()[1] == "outlier"


def test_zoom_and_menus_change_the_map(opened):
    page = opened("wine")
    before = pixels(page)
    page.click("[data-zoom=in]")
    page.wait_for_timeout(100)
    nearer = pixels(page)
    assert nearer != before
    page.click("[data-zoom=reset]")
    page.wait_for_timeout(100)
    assert pixels(page) == before
    page.select_option("#axis-x", label="alcohol")
    page.wait_for_timeout(100)
    assert pixels(page) != before
    page.focus("#map")
    page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("0")


def test_the_legend_filters(opened):
    page = opened("wine")
    whole = drawn(page)
    page.click("[data-all='0']")
    page.wait_for_timeout(100)
    assert drawn(page) < whole / 20
    page.locator("[data-show='0']").check()
    page.wait_for_timeout(100)
    assert 0 < drawn(page) < whole


def test_tables_are_sorted_and_searched(opened):
    page = opened("wine")
    head = page.locator("#torn-table thead th").nth(2)

    def doubts():
        return [float(cell) for cell in page.locator("#torn-table tbody tr td:nth-child(3)").all_inner_texts() if cell]

    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert doubts() == sorted(doubts())
    rows = page.locator("#torn-table tbody tr")
    assert 0 < page.locator("#torn-table tbody tr:visible").count() <= 10 < rows.count()
    page.click("[data-more=torn-table]")
    assert page.locator("#torn-table tbody tr:visible").count() == rows.count()
    name = rows.nth(3).locator("th").inner_text()
    page.fill("[data-table=torn-table]", name)
    assert 1 <= page.locator("#torn-table tbody tr:visible").count() < rows.count()
    assert f"of {rows.count()} rows" in page.locator("#torn-table-found").inner_text()


def test_code_is_copied(opened):
    page = opened("wine", permissions=["clipboard-read", "clipboard-write"])
    page.click("[data-copy=code]")
    page.wait_for_timeout(100)
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#code").inner_text()
    assert page.locator("[data-copy=code]").inner_text() == "Copied"


def paper(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colors_follow_the_system_and_the_switch(opened, scheme):
    page = opened("wine", color_scheme=scheme)
    light = "rgb(255, 255, 255)"
    assert (paper(page) == light) == (scheme == "light")
    page.click("#theme")
    assert (paper(page) == light) == (scheme == "dark")
    page.reload()
    assert (paper(page) == light) == (scheme == "dark")
    page.emulate_media(media="print")
    assert paper(page) == light
    assert page.locator(".static-map").is_visible()
    assert not page.locator("nav").is_visible()


def test_words_stand_out_from_the_paper(opened):
    """Contrast of at least 4.5 for text, as the guidelines for accessible pages ask for."""
    for scheme in ("light", "dark"):
        page = opened("wine", color_scheme=scheme)
        worst = page.evaluate(
            """() => {
                const light = (c) => {
                    const v = c.match(/\\d+/g).slice(0, 3).map((x) => x / 255);
                    const [r, g, b] = v.map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
                    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
                };
                const paper = light(getComputedStyle(document.body).backgroundColor);
                const words = document.querySelectorAll("p, a, th, small, summary, figcaption, dt, dd, li");
                const ratios = [...words].map((e) => {
                    const ink = light(getComputedStyle(e).color);
                    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
                });
                return Math.min(...ratios);
            }"""
        )
        assert worst >= 4.5


def test_without_a_script_the_page_is_complete(opened):
    page = opened("wine", java_script_enabled=False)
    assert page.locator(".static-map").is_visible()
    assert not page.locator("#map").is_visible()
    assert page.locator("#torn-table tbody tr").last.is_visible()
    assert not page.locator("[data-copy]").first.is_visible()


def test_everything_can_be_reached_by_keys(opened):
    page = opened("wine")
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"A", "theme", "axis-x", "axis-y", "map", "BUTTON", "INPUT"} <= seen


def test_paper(opened, tmp_path):
    page = opened("many")
    page.pdf(path=tmp_path / "many.pdf", format="A4")
    pages = (tmp_path / "many.pdf").read_bytes().count(b"/Type /Page\n") or 1
    assert pages < 40
