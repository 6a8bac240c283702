"""A browser for the tests of the page: Chromium or Chrome as the system has it."""

import time
from contextlib import contextmanager

from tests.report.browser import find_browser
from tests.studio.live import PATIENCE

# WebGL without a graphics processor, as most machines that run tests have none
WITH_WEBGL = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
WITHOUT_WEBGL = ("--no-sandbox", "--disable-3d-apis", "--disable-gpu")


def launched(playwright, *flags):
    """A browser without a window."""
    kind = getattr(playwright, "chromium", playwright)
    return kind.launch(executable_path=find_browser(), args=list(flags))


@contextmanager
def watched(page):
    """A page whose failures are failures of the test: errors of scripts, and whatever the policy of the page stops."""
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.set_default_timeout(1000 * PATIENCE)
    yield page
    expected = ("status of 422", "status of 404")  # what the studio refuses in words
    failures = [words for words in problems if not any(part in words for part in expected)]
    assert not failures, failures


def enter(page, guard):
    """Open the studio with its token."""
    page.goto(guard.address)
    page.wait_for_selector("body[data-ready]")


@contextmanager
def opened(browser, guard):
    """The studio in a new profile of the browser."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    with watched(context.new_page()) as page:
        enter(page, guard)
        yield page
    context.close()


def load_example(page, name):
    page.click(f".welcome .examples >> text={name}")
    page.wait_for_selector("#run:visible")


def cluster(page, clusters="3", method=None):
    """Choose and run; returns when the run is shown."""
    before = page.locator(".run-list li").count()
    if method:
        page.select_option("#method", method)
    page.fill("#clusters", clusters)
    page.press("#clusters", "Tab")
    page.click("#run")
    page.wait_for_function("n => document.querySelectorAll('.run-list li').length > n", arg=before)
    shown(page)


def shown(page):
    """Wait until the map of the current run is there."""
    page.wait_for_selector(".map-plot:visible")
    page.wait_for_selector(".legend button")


def counts(page):
    """Certain, ambiguous, outliers, as the summary shows them."""
    texts = page.locator(".counts strong").all_inner_texts()
    return [int(text.replace(",", "")) for text in texts]


def drag(page, selector, start, end):
    """Drag over an element, from one share of it to another."""
    box = page.locator(selector).bounding_box()
    places = [(box["x"] + u * box["width"], box["y"] + v * box["height"]) for u, v in (start, end)]
    page.mouse.move(*places[0])
    page.mouse.down()
    page.mouse.move(*places[1], steps=6)
    page.mouse.up()


def eventually(check):
    """Wait until something holds; a busy machine is no failure."""
    end = time.monotonic() + PATIENCE
    while not check():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.03)
