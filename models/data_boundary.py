"""Which hosts may be sent text: checked on the very address that is then connected to."""

import ipaddress
import re
import socket
from dataclasses import dataclass
from typing import Literal

import httpx

from babelray.errors import ConfigError, UpstreamError

Boundary = Literal["local", "external"]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# A name (international ones are ASCII here) or an address.
_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9a-fA-F:.]+")
# Written out, because `is_private` also takes documentation ranges, and link-local holds the credential services of
# cloud machines.
_LOCAL_NETWORKS = [
    ipaddress.ip_network(network)
    for network in ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7")
]


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes.

    Attributes:
        url: With an address as host when the boundary is `local`, so that no second look-up can lead elsewhere.
        host_header: The `Host` header that belongs to the URL the user gave.
        server_name: Name that a TLS certificate must hold.
    """

    url: httpx.URL
    host_header: str
    server_name: str


def parse_base_url(url: str, setting: str = "embedder") -> httpx.URL:
    """Parse a service's base URL.

    Args:
        url: As the user gave it.
        setting: The settings group that holds it, for messages.

    Raises:
        ConfigError: Not http(s), without host, or with credentials, query or fragment.
    """
    where = f"{setting}.url"
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError) as error:
        raise ConfigError("not a URL", where=where, got=str(error)) from error
    if parsed.userinfo:
        raise ConfigError("credentials in a URL end up in logs", where=where, fix="put the key into `api_key_file`")
    if parsed.scheme not in ("http", "https") or not _HOST.fullmatch(parsed.host) or (parsed.port or 1) > 65_535:
        raise ConfigError("not an http(s) URL", where=where, got=f"{parsed.scheme}://{parsed.host}")
    if parsed.query or parsed.fragment:
        raise ConfigError("a base URL has no query and no fragment", where=where, allowed="http(s)://host[:port]/path")
    return parsed


def targets_within(url: httpx.URL, boundary: Boundary, setting: str = "embedder") -> list[Target]:
    """The addresses a request may go to, IPv4 first.

    Args:
        url: Full URL of the request, from `parse_base_url`.
        boundary: `local` takes loopback and private addresses, and only if the name has no other; `external` takes all.
        setting: The settings group that holds the URL, for messages.

    Raises:
        ConfigError: An address lies outside the boundary.
        UpstreamError: The name does not resolve.
    """
    host_header = url.netloc.decode("ascii")
    if boundary == "external":
        return [Target(url, host_header, url.host)]
    addresses = _resolve(url.host)
    outside = [address for address in addresses if not is_local(address)]
    if outside:
        raise ConfigError(
            "text may not leave for an external service",
            where=f"{setting}.url",
            got=f"{url.host} is {outside[0]}",
            allowed="loopback and private addresses",
            fix=f"set `{setting}.data_boundary: external` if the operator of that service may see these texts",
        )
    return [Target(url.copy_with(host=str(address)), host_header, url.host) for address in addresses]


def is_local(address: Address) -> bool:
    """Whether an address is loopback or private; an IPv4 address inside an IPv6 one is judged by itself."""
    inner = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    judged = inner or address
    return any(judged.version == network.version and judged in network for network in _LOCAL_NETWORKS)


def _resolve(host: str) -> list[Address]:
    try:
        found = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UpstreamError("the host name does not resolve", where=host, got=str(error)) from error
    # A scope (`%eth0`) belongs to link-local addresses, which are refused.
    addresses = {ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found}
    return sorted(addresses, key=lambda address: (address.version, int(address)))
