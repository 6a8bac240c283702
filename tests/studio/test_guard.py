"""Who is let in: nobody without the token, no stranger's page, no stranger's name."""

import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from dempster.apps.studio import serve
from dempster.apps.studio.guard import Guard, is_loopback
from tests.studio.live import Client


@pytest.fixture
def client(studio):
    return Client(studio)


def with_token(client, **headers):
    return {**client.credentials, **headers}


def test_the_page_needs_the_token(client, studio):
    assert client.raw("GET", "/").status == 403
    assert client.raw("GET", "/?token=wrong").status == 403
    assert client.raw("GET", f"/?token={studio.token}").status == 200
    assert client.raw("GET", "/static/main.js").status == 403
    assert client.raw("GET", f"/static/main.js?token={studio.token}").status == 403
    assert client.raw("GET", "/static/main.js", headers=with_token(client)).status == 200


def test_the_cookie_is_for_this_page_only(client, studio):
    cookie = client.raw("GET", f"/?token={studio.token}").headers["set-cookie"]
    assert studio.token in cookie
    assert {"httponly", "samesite=strict", "path=/"} <= {part.strip().lower() for part in cookie.split(";")}


def test_questions_need_the_token_in_a_header(client, studio):
    cookie = {"cookie": client.credentials["cookie"]}
    header = {"x-dempster-token": studio.token}
    for headers in ({}, cookie, header, {**cookie, "x-dempster-token": "wrong"}):
        assert client.raw("POST", "/api/sessions", b"{}", headers).status == 403
        assert client.raw("GET", "/api/about", headers=headers).status == 403
    assert client.raw("GET", "/api/about", headers={**cookie, **header}).status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:1", "http://127.0.0.1"])
def test_foreign_origins_are_refused(client, origin):
    assert client.raw("GET", "/api/about", headers=with_token(client, origin=origin)).status == 403
    assert client.raw("POST", "/api/sessions", b"{}", with_token(client, origin=origin)).status == 403


def test_the_own_origin_is_let_in(client, studio):
    origin = f"http://127.0.0.1:{studio.port}"
    assert client.raw("GET", "/api/about", headers=with_token(client, origin=origin)).status == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1:1", "127.0.0.1.evil:{port}", ""])
def test_foreign_hosts_are_refused(client, studio, host):
    headers = with_token(client, host=host.format(port=studio.port))
    assert client.raw("GET", "/api/about", headers=headers).status == 421


def test_requests_of_other_sites_are_refused(client):
    for site in ("cross-site", "same-site"):
        assert client.raw("GET", "/api/about", headers=with_token(client, **{"sec-fetch-site": site})).status == 403


def test_every_answer_has_the_headers_of_safety(client, studio):
    for path, headers in (("/", {}), (f"/?token={studio.token}", {}), ("/api/about", with_token(client))):
        answer = client.raw("GET", path, headers=headers)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_paths_do_not_leave_the_folder(client):
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static//etc/passwd"):
        assert client.raw("GET", path, headers=with_token(client)).status in (403, 404)


def test_a_wildcard_host_takes_addresses_but_no_foreign_names():
    guard = Guard("0.0.0.0", 80)
    assert guard.knows_host("192.168.1.5:80")
    assert not guard.knows_host("evil.example:80")
    assert Guard("127.0.0.1", 80).token != guard.token
    assert is_loopback("127.0.0.1")
    assert is_loopback("localhost")
    assert not is_loopback("0.0.0.0")


def test_wrong_arguments_are_told(tmp_path):
    with pytest.raises(ValueError, match="port must be a whole number from 0 .any. to 65535, got 99999"):
        serve(port=99999)
    with pytest.raises(OSError, match="No such file"):
        serve(tmp_path / "none.csv")


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.long)])
def test_the_program_serves_its_address_and_leaves_nothing_when_it_is_ended(tmp_path, number):
    command = [sys.executable, "-c", "from dempster.apps.cli import main; main()", "studio", "--no-browser"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, **pipes) as process:
        address = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", process.stdout.readline())[0]
        assert urllib.request.urlopen(address, timeout=30).status == 200
        process.send_signal(number)
        words = process.communicate(timeout=60)[1]
    assert (process.returncode, words) == (143, "dempster: terminated\n")
    assert list(tmp_path.iterdir()) == []
