import ipaddress
import socket

import httpx
import pytest

from babelray.errors import ConfigError, UpstreamError
from models.data_boundary import is_local, parse_base_url, targets_within


@pytest.fixture
def names(monkeypatch):
    """Name -> addresses; anything else does not resolve, and literal addresses resolve to themselves."""
    table = {"both.test": ["10.0.0.5", "93.184.216.34"], "v6.test": ["fd00::7", "10.0.0.5"], "localhost": ["127.0.0.1"]}

    def look_up(host, *_, **__):
        try:
            found = [str(ipaddress.ip_address(host))]
        except ValueError:
            found = table.get(host) or []
        if not found:
            raise socket.gaierror(-2, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return table


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "127.9.9.9", "10.1.2.3", "172.16.0.1", "192.168.1.1", "::1", "fd12::1", "::ffff:10.0.0.1"],
)
def test_local(address):
    assert is_local(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "172.32.0.1",
        "169.254.169.254",
        "0.0.0.0",
        "100.64.0.1",
        "203.0.113.7",
        "224.0.0.1",
        "::",
        "fe80::1",
        "2001:4860:4860::8888",
        "::ffff:8.8.8.8",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ],
)
def test_not_local(address):
    assert not is_local(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        "http://8.8.8.8/v1",
        "http://[2001:db8::1]:8080/v1",
        "http://[::ffff:8.8.8.8]/v1",
        "http://both.test/v1",
        "http://169.254.169.254/latest",
    ],
)
def test_local_boundary_refuses(url, names):
    with pytest.raises(ConfigError, match="may not leave"):
        targets_within(parse_base_url(url), "local")


def test_request_goes_to_the_address_that_was_checked(names):
    targets = targets_within(parse_base_url("https://v6.test:8443/v1/embeddings"), "local")
    assert [str(target.url) for target in targets] == [
        "https://10.0.0.5:8443/v1/embeddings",
        "https://[fd00::7]:8443/v1/embeddings",
    ]
    assert {(target.host_header, target.server_name) for target in targets} == {("v6.test:8443", "v6.test")}


def test_external_boundary_takes_every_name_unresolved(names):
    url = httpx.URL("https://api.example.com/v1/embeddings")
    assert [target.url for target in targets_within(url, "external")] == [url]


@pytest.mark.parametrize(
    "url",
    [
        "ftp://localhost/v1",
        "http:///v1",
        "http://user:secret@localhost/v1",
        "http://localhost@8.8.8.8/v1",
        "http://localhost/v1?key=secret",
        "http://localhost/v1#part",
        "http://local host/v1",
        "http://localhost:99999999/v1",
    ],
)
def test_urls_that_are_refused_before_any_look_up(url):
    with pytest.raises(ConfigError) as caught:
        parse_base_url(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://8.8.8.8\\@localhost/v1", "http://localhost\\@8.8.8.8/v1"])
def test_backslash_cannot_split_what_is_checked_from_what_is_called(url, names):
    try:
        targets = targets_within(parse_base_url(url), "local")
    except (ConfigError, UpstreamError):
        return
    assert all(is_local(ipaddress.ip_address(target.url.host)) for target in targets)


def test_unknown_name_is_an_upstream_error(names):
    with pytest.raises(UpstreamError, match="does not resolve"):
        targets_within(parse_base_url("http://nowhere.test/v1"), "local")
