"""Access control of the studio: token, origin and host name."""

import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from dempster.apps.studio import serve
from dempster.apps.studio.guard import Guard, is_loopback
from tests.apps.studio.live import Client


@pytest.fixture
def client(studio):
    return Client(studio)


def test_page_and_files_need_the_token(client, studio):
    assert client.raw("GET", "/").status == 403
    assert client.raw("GET", "/?token=wrong").status == 403
    page = client.raw("GET", f"/?token={studio.token}")
    assert page.status == 200
    assert studio.token in page.headers["set-cookie"]
    parts = {part.strip().lower() for part in page.headers["set-cookie"].split(";")}
    assert {"httponly", "samesite=strict", "path=/"} <= parts
    assert client.raw("GET", f"/static/main.js?token={studio.token}").status == 403
    assert (
        client.raw("GET", "/static/main.js", headers=client.credentials).status == 200
    )


def test_api_needs_cookie_and_header(client, studio):
    cookie = {"cookie": client.credentials["cookie"]}
    header = {"x-dempster-token": studio.token}
    for headers in ({}, cookie, header, {**cookie, "x-dempster-token": "wrong"}):
        assert client.raw("POST", "/api/sessions", b"{}", headers).status == 403
        assert client.raw("GET", "/api/about", headers=headers).status == 403
    assert client.raw("GET", "/api/about", headers={**cookie, **header}).status == 200


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("origin", "http://127.0.0.1:{port}", 200),
        ("origin", "http://evil.example", 403),
        ("origin", "null", 403),
        ("origin", "https://127.0.0.1:1", 403),
        ("origin", "http://127.0.0.1", 403),
        ("host", "evil.example", 421),
        ("host", "evil.example:{port}", 421),
        ("host", "127.0.0.1:1", 421),
        ("host", "127.0.0.1.evil:{port}", 421),
        ("host", "", 421),
        ("sec-fetch-site", "cross-site", 403),
        ("sec-fetch-site", "same-site", 403),
    ],
)
def test_foreign_pages_and_hosts_are_rejected(client, studio, name, value, status):
    headers = {**client.credentials, name: value.format(port=studio.port)}
    assert client.raw("GET", "/api/about", headers=headers).status == status
    assert client.raw("POST", "/api/sessions", b"{}", headers).status == status


def test_all_responses_have_security_headers(client, studio):
    for path, headers in (
        ("/", {}),
        (f"/?token={studio.token}", {}),
        ("/api/about", client.credentials),
    ):
        answer = client.raw("GET", path, headers=headers)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_paths_outside_the_static_folder_are_rejected(client):
    for path in (
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
    ):
        assert client.raw("GET", path, headers=client.credentials).status in (403, 404)


def test_wildcard_host_accepts_addresses_but_no_foreign_names():
    guard = Guard("0.0.0.0", 80)
    assert guard.is_own_host("192.168.1.5:80")
    assert not guard.is_own_host("evil.example:80")
    assert Guard("127.0.0.1", 80).token != guard.token
    assert is_loopback("127.0.0.1")
    assert is_loopback("localhost")
    assert not is_loopback("0.0.0.0")


def test_invalid_arguments(tmp_path):
    with pytest.raises(ValueError, match="port must be"):
        serve(port=99999)
    with pytest.raises(FileNotFoundError):
        serve(tmp_path / "none.csv")


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.long)]
)
def test_program_serves_and_removes_its_files_when_terminated(tmp_path, number):
    command = [
        sys.executable,
        "-c",
        "from dempster.apps.cli import main; main()",
        "studio",
        "--no-browser",
    ]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, **pipes) as process:
        address = re.search(
            r"http://127\.0\.0\.1:\d+/\?token=\S+", process.stdout.readline()
        )[0]
        assert urllib.request.urlopen(address, timeout=30).status == 200
        process.send_signal(number)
        message = process.communicate(timeout=60)[1]
    assert (process.returncode, message) == (143, "dempster: terminated\n")
    assert [path for path in tmp_path.rglob("*") if not any(path.iterdir())] == [
        tmp_path / "dempster" / "dempster-studio-sessions"
    ]
