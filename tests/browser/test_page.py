"""The page in Chromium, with the network cut as soon as everything is loaded."""

import contextlib
import functools
import html
import http.server
import io
import json
import re
import threading

import numpy as np
import pandas as pd
import pytest

from dempster.datasets import load_iris, make_fourclass
from dempster.io import read_partition
from tests.apps.report.browser import find_browser
from tests.browser.conftest import ROOT

pytest.importorskip("playwright")
TIMEOUT_MS = 300_000
RESULT = "#map-area .legend button"


class Server:
    """Server of a folder that can be stopped and started again at the same address."""

    def __init__(self, folder):
        paths = self.paths = []  # of all requests

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *args):
                paths.append(self.path)

        self._handler = functools.partial(Handler, directory=str(folder))
        self.port = 0
        self.start()

    def start(self):
        self._server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", self.port), self._handler
        )
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture
def server(site):
    server = Server(site)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_browser(),
            args=["--no-sandbox", "--disable-gpu", "--disable-3d-apis"],
        )
        yield browser
        browser.close()


@contextlib.contextmanager
def opened(chromium, server, width=1280, height=800, *, refuses=False):
    """Open the page; fail if a script fails, or if ``refuses`` does not say whether connections are refused."""
    context = chromium.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "console",
        lambda one: problems.append(one.text) if one.type == "error" else None,
    )
    page.goto(f"{server.address}/try.html")
    page.wait_for_selector("body[data-ready]")
    yield page
    refused = [text for text in problems if "Content Security Policy" in text]
    assert problems == refused
    assert bool(refused) == refuses
    context.close()


def wait_until_sealed(page):
    page.wait_for_selector("#page-note:has-text('no longer connect')")


def choose(page, name, content):
    """Open a table in the page."""
    page.set_input_files(
        "input[type=file] >> nth=0",
        {"name": name, "mimeType": "text/csv", "buffer": content},
    )


def save(page, button):
    with page.expect_download() as waiting:
        page.click(f"#side button:has-text('{button}')")
    return waiting.value.path().read_bytes()


def test_first_visit_without_a_network(chromium, server):
    """After everything is loaded, the server stops and the browser is offline."""
    with opened(chromium, server) as page:
        requests = []
        page.context.on("request", lambda request: requests.append(request.url))
        assert page.locator("#setup .only-narrow").is_hidden()
        page.click(".examples button:has-text('iris')")
        wait_until_sealed(page)
        hosts = {re.match(r"(?:blob:)?\w+:/*([^/]*)", url)[1] for url in requests}
        assert hosts <= {server.address.removeprefix("http://"), ""}
        page.context.set_offline(True)
        server.stop()
        requests.clear()
        page.wait_for_selector(RESULT)
        assert page.locator("#where").inner_text() == "iris.csv 150 rows"
        page.click("#drawer .grid [data-position] >> nth=0")
        page.wait_for_selector("#side .masses")
        assert "Object" in page.locator("#panel-why h2").inner_text()
        page.click("#tab-export")
        partition = pd.read_csv(io.BytesIO(save(page, "Partition (CSV)")))
        assert len(partition) == 150
        code = page.locator("#export-code").inner_text()
        assert 'read_table("iris.csv")' in code
        report = save(page, "Report").decode()
        assert report.startswith("<!doctype html>")
        assert "iris" in report
        assert not [url for url in requests if not url.startswith("blob:")]
        server.start()


def test_labels_are_those_of_the_package(chromium, server, tmp_path):
    """A chosen file is clustered as by the package, in another tab without a network."""
    from dempster.cluster import CredalClustering

    X, _ = make_fourclass(200, random_state=1)
    table = pd.DataFrame(X, columns=["width", "height"])
    with opened(chromium, server) as page:
        choose(page, "points.csv", table.to_csv(index=False).encode())
        page.click("#run:not([disabled])")
        page.wait_for_selector(RESULT)
        page.click("#tab-export")
        file = tmp_path / "points.partition.csv"
        file.write_bytes(save(page, "Partition (CSV)"))
    model = CredalClustering(random_state=0).fit(table)
    found = read_partition(file)
    np.testing.assert_array_equal(found.labels, model.labels_)
    np.testing.assert_allclose(found.masses, model.credal_partition_.masses, atol=1e-6)


def test_the_page_cannot_connect(chromium, server):
    with opened(chromium, server, refuses=True) as page:
        page.click(".examples button:has-text('butterfly')")
        wait_until_sealed(page)
        connect = """async (address) => {
            const tried = [];
            const request = new XMLHttpRequest();
            try { request.open("GET", address, false); request.send(); tried.push("xhr"); } catch {}
            if (navigator.sendBeacon(address, "table")) tried.push("beacon");
            const image = new Image();
            const loaded = await new Promise((resolve) => {
              image.onload = () => resolve(true); image.onerror = () => resolve(false); image.src = `${address}?table`;
            });
            if (loaded) tried.push("image");
            const script = "fetch('" + address + "').then(() => postMessage('worker'), () => postMessage(''))";
            const worker = new Worker(URL.createObjectURL(new Blob([script])));
            const answer = await new Promise((resolve) => { worker.onmessage = ({ data }) => resolve(data); });
            if (answer) tried.push(answer);
            return tried;
        }"""
        assert "/try.html" in server.paths
        server.paths.clear()
        tried = page.evaluate(connect, f"{server.address}/table")
        assert set(tried) <= {"beacon"}  # which is queued and then refused
        page.wait_for_timeout(1000)
        assert not server.paths
        page.wait_for_selector(RESULT)


def test_stop_and_continue(chromium, server):
    """The button Stop ends a run at once; the table and earlier runs remain."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(6000, 8)))
    with opened(chromium, server) as page:
        choose(page, "noise.csv", table.to_csv(index=False).encode())
        page.wait_for_selector("#run:not([disabled])")
        page.fill("#clusters", "2")
        page.select_option("#method", "ecm")
        page.click("#run:not([disabled])")
        page.wait_for_selector(RESULT)
        page.select_option("#method", "credal")
        page.fill("#clusters", "auto")
        page.click("#run:not([disabled])")
        page.wait_for_selector("button.stop")
        page.wait_for_timeout(1000)
        page.click("button.stop")
        page.wait_for_selector("#run:not([disabled])")
        page.select_option("#method", "fuzzycmeans")
        page.fill("#clusters", "3")
        page.click("#run:not([disabled])")
        page.wait_for_selector("#run-picker option >> nth=1", state="attached")
        names = page.locator("#run-picker option").all_inner_texts()
        assert names == ["1. ECM, 2 clusters", "2. FuzzyCMeans, 3 clusters"]


def test_second_visit_needs_no_network(chromium, server):
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(f"{server.address}/try.html")
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    page.click(".examples button:has-text('butterfly')")
    page.wait_for_selector(RESULT)
    server.stop()
    context.set_offline(True)
    page.close()
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(f"{server.address}/try.html")
    page.click(".examples button:has-text('butterfly')")
    page.wait_for_selector(RESULT)
    context.close()
    server.start()


TABLES = {
    "decimal commas": (
        "laenge;breite\n" + "\n".join(f"{a / 7:.3f};{40 - a}".replace(".", ",") for a in range(40)),
        "40 rows, 2 columns",
        None,
    ),
    "missing values": (
        load_iris(as_frame=True).data.mask(np.eye(150, 4, dtype=bool)).to_csv(index=False),
        "150 rows, 4 columns",
        "missing",
    ),
    "60 columns": (
        pd.DataFrame(np.random.default_rng(0).normal(size=(80, 60))).add_prefix("column ").to_csv(index=False),
        "80 rows, 60 columns",
        None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_tables(chromium, server, name):
    """Columns are chosen and errors are given as by the program."""
    text, described, problem = TABLES[name]
    with opened(chromium, server, 390, 844) as page:
        choose(page, "table.csv", text.encode())
        page.click("#run:not([disabled])")
        if problem:
            page.wait_for_selector("#toast[data-kind=error]:not([hidden])")
            assert problem in page.locator("#toast").inner_text()
            assert page.locator("#toast").bounding_box()["width"] > 300
            page.select_option("select:has(option[value=drop])", "drop")
            page.click("#run:not([disabled])")
        page.wait_for_selector(RESULT)
        page.click("#pages [data-page=setup]")
        assert described in page.locator("#setup").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_broken_file(chromium, server):
    with opened(chromium, server) as page:
        choose(page, "broken.xlsx", b"PK\x03\x04 this is not a workbook")
        page.wait_for_selector("#toast[data-kind=error]:not([hidden])")
        assert "broken.xlsx" in page.locator("#toast").inner_text()


def test_excel_and_many_rows(chromium, server):
    workbook = io.BytesIO()
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    table.to_excel(workbook, index=False)
    with opened(chromium, server) as page:
        choose(page, "book.xlsx", workbook.getvalue())
        page.wait_for_selector("#run:not([disabled])")
        assert "300 rows, 3 columns" in page.locator("#setup").inner_text()
        many = pd.concat([table] * 70)
        choose(page, "many.csv", many.to_csv(index=False).encode())
        page.wait_for_selector("#page-note:has-text('The program')")


# ---- live cells ----------------------------------------------------------------------------------

CELLS = """<!doctype html><title>cells</title>
<link rel="stylesheet" href="try/cells.css">
<div class="highlight-python notranslate"><div class="highlight"><pre>x = 6
</pre></div></div>
<div class="highlight-python notranslate"><div class="highlight"><pre>print(7 * x)
</pre></div></div>
<div class="printed"><pre>an old result</pre></div>
<div class="highlight-python notranslate"><div class="highlight"><pre>import matplotlib.pyplot as plt
plt.plot([1, x])
</pre></div></div>
<script type="module" src="try/cells.js"></script>
"""


def test_cells(chromium, server, site):
    (site / "cells.html").write_text(CELLS)
    page = chromium.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{server.address}/cells.html")
    page.wait_for_selector(".cell-bar button")
    assert not [url for url in requests if "runtime" in url]
    second = page.locator(".cell-bar").nth(1)
    second.locator("button").click()
    page.wait_for_selector(".cell-output pre:text-is('42')")
    assert page.locator(".printed").is_hidden()
    page.locator("textarea").fill("print(x +")
    second.locator("button:has-text('Run')").click()
    page.wait_for_selector(".cell-error")
    assert "SyntaxError" in page.locator(".cell-error").inner_text()
    second.locator("button:has-text('Reset')").click()
    page.locator(".cell-bar").nth(2).locator("button").click()
    page.wait_for_selector(".cell-output img")
    page.close()


PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", ["index", "partition"])
def test_examples_of_the_documentation(chromium, server, site, name):
    """The last example of a page runs after those above it, and prints the same as here."""
    examples = PYTHON.findall((ROOT / "docs" / f"{name}.md").read_text())
    blocks = (
        f'<div class="highlight-python"><pre>{html.escape(code)}</pre></div>'
        for code in examples
    )
    (site / "examples.html").write_text(
        f'<!doctype html>{"".join(blocks)}<script type="module" src="try/cells.js"></script>'
    )
    variables = {}
    for code in examples:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, variables)
    page = chromium.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(f"{server.address}/examples.html")
    page.click(".cell-bar button >> nth=-1")
    page.wait_for_selector(".cell-output pre")
    assert page.locator(".cell-output pre").inner_text().strip() == (
        printed.getvalue().strip()
    )
    page.close()


def test_manifest(site):
    manifest = json.loads((site / "try" / "manifest.json").read_text())
    for file in manifest["files"].values():
        assert (site / "try" / file["path"]).stat().st_size == file["bytes"]
