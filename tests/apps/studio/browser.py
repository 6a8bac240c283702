"""Helpers for tests of the page in an installed Chromium or Chrome."""

import time
from contextlib import contextmanager

from tests.apps.report.browser import find_browser
from tests.apps.studio.live import TIMEOUT_SECONDS

# Test machines rarely have a graphics processor, so WebGL is emulated.
WITH_WEBGL = (
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
)
WITHOUT_WEBGL = ("--no-sandbox", "--disable-3d-apis", "--disable-gpu")


def launch(playwright, *flags):
    kind = getattr(playwright, "chromium", playwright)
    return kind.launch(executable_path=find_browser(), args=list(flags))


@contextmanager
def watch(page):
    """Fail if a script of the page fails or its content security policy blocks a resource."""
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "console",
        lambda message: (
            problems.append(message.text) if message.type == "error" else None
        ),
    )
    page.set_default_timeout(1000 * TIMEOUT_SECONDS)
    yield page
    # expected error responses
    expected = ("status of 422", "status of 404", "status of 409")
    failures = [
        words for words in problems if not any(part in words for part in expected)
    ]
    assert not failures, failures


def enter(page, guard):
    page.goto(guard.address)
    page.wait_for_selector("body[data-ready]")


@contextmanager
def open_page(browser, guard):
    """Open the studio in a new profile of the browser."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    with watch(context.new_page()) as page:
        enter(page, guard)
        yield page
    context.close()


def load_example(page, name):
    page.click(f".welcome .examples >> text={name}")
    page.wait_for_selector("#run:visible")


def cluster(page, clusters="3", method=None):
    """Start a run and wait until it is shown."""
    before = page.locator(".run-list li").count()
    if method:
        page.select_option("#method", method)
    page.fill("#clusters", clusters)
    page.press("#clusters", "Tab")
    page.click("#run")
    page.wait_for_function(
        "n => document.querySelectorAll('.run-list li').length > n", arg=before
    )
    wait_for_map(page)


def wait_for_map(page):
    page.wait_for_selector(".map-plot:visible")
    page.wait_for_selector(".legend button")


def counts(page):
    """Return the numbers of certain and ambiguous objects and outliers in the summary."""
    texts = page.locator(".counts strong").all_inner_texts()
    return [int(text.replace(",", "")) for text in texts]


def drag(page, selector, start, end):
    """Drag over an element, between two positions relative to its size."""
    box = page.locator(selector).bounding_box()
    places = [
        (box["x"] + u * box["width"], box["y"] + v * box["height"])
        for u, v in (start, end)
    ]
    page.mouse.move(*places[0])
    page.mouse.down()
    page.mouse.move(*places[1], steps=6)
    page.mouse.up()


def wait_until(check):
    end = time.monotonic() + TIMEOUT_SECONDS
    while not check():
        assert time.monotonic() < end, "the condition never became true"
        time.sleep(0.03)
