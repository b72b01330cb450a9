"""Who asks: from a signed token to an access scope. A request can narrow the scope and never widen it.

One kind of key at a time: a secret verifies HS256 alone, public keys verify RS256 and ES256 alone, so that no token can
choose how it is checked.
"""

import ipaddress
import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import jwt

from babelray.config import AuthSettings, ServingSettings
from babelray.errors import ConfigError
from babelray.index.access import AccessScope
from serve.problems import forbidden, unauthorized, unavailable

logger = logging.getLogger(__name__)

MIN_SECRET_BYTES = 32
"""RFC 7518, section 3.2: an HS256 key is at least as long as its hash."""
MAX_TOKEN_BYTES = 16_384
MAX_CLAIM_VALUES = 1000
PUBLIC = ("RS256", "ES256")
REFRESH_SECONDS = 30.0
"""Between two fetches of keys for the sake of an unknown key id."""
RETRY_SECONDS = 1.0
"""Between two fetches while no keys are known at all."""
KEYS_SECONDS = 300.0
"""After which keys are fetched anew."""
_KEY_TYPES = ("RSA", "EC")


class Identity(Protocol):
    """Turns what came with a request into a scope."""

    def scope_of(self, headers: Mapping[str, str], peer: str | None) -> AccessScope:
        """The caller's scope, now.

        Args:
            headers: Of the request, names in lower case.
            peer: Address that it came from.

        Raises:
            Problem: 401 without a token that can be trusted, 403 for one that grants nothing.
        """
        ...


class Anonymous:
    """Without authentication: callers on this machine are one tenant, and nobody else is heard."""

    def __init__(self, settings: ServingSettings) -> None:
        self._tenant, self._groups = settings.anonymous_tenant, frozenset(settings.anonymous_groups)

    def scope_of(self, headers: Mapping[str, str], peer: str | None) -> AccessScope:
        """The one scope there is."""
        if not is_loopback(peer) or "x-forwarded-for" in headers or "forwarded" in headers:
            raise forbidden("no authentication is configured, so only callers on this machine are heard")
        if not _is_own_name(headers.get("host", "")):
            # A page of somebody else's may have had its name pointed here (DNS rebinding): the browser is on this
            # machine, whoever wrote the page is not.
            raise forbidden("without authentication this machine is called localhost or by its loopback address")
        return AccessScope(tenant_id=self._tenant, groups=self._groups, as_of=datetime.now(UTC))


class Bearer:
    """JWT bearer tokens.

    Args:
        settings: Keys and claims.

    Raises:
        ConfigError: The key file cannot be used.
    """

    def __init__(self, settings: AuthSettings) -> None:
        self._settings = settings
        self._secret = _secret(settings.secret_file) if settings.secret_file else None
        self._keys = _keys(settings.jwks_file) if settings.jwks_file else {}
        self._fetched = _FetchedKeys(settings.jwks_url) if settings.jwks_url else None

    def scope_of(self, headers: Mapping[str, str], peer: str | None) -> AccessScope:
        """The scope that the token grants."""
        claims = self._claims(_token(headers))
        settings = self._settings
        tenant = claims.get(settings.tenant_claim)
        if not isinstance(tenant, str) or not tenant.strip():
            raise forbidden(f"the token names no tenant (claim `{settings.tenant_claim}`)")
        narrowed = settings.knowledge_bases_claim in claims
        try:
            return AccessScope(
                tenant_id=tenant,
                groups=_names(claims.get(settings.groups_claim, ()), settings.groups_claim),
                knowledge_bases=_names(claims[settings.knowledge_bases_claim], settings.knowledge_bases_claim)
                if narrowed
                else None,
                as_of=datetime.now(UTC),
            )
        except ValueError as error:
            raise forbidden("the token's claims are no scope") from error

    def _claims(self, token: str) -> dict[str, Any]:
        settings = self._settings
        try:
            key, algorithms = self._key(token)
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=list(algorithms),
                audience=settings.audience,
                issuer=settings.issuer,
                leeway=settings.leeway_seconds,
                options={"require": ["exp", "aud"]},
            )
        except jwt.ExpiredSignatureError:
            raise unauthorized("the token has expired") from None
        except (jwt.PyJWTError, OverflowError) as error:
            # The library's words say what is wrong with the token; they hold nothing of the key.
            raise unauthorized(f"the token cannot be trusted: {type(error).__name__}") from None
        return claims

    def _key(self, token: str) -> tuple[Any, Sequence[str]]:
        if self._secret is not None:
            return self._secret, ("HS256",)
        name = jwt.get_unverified_header(token).get("kid")
        if self._fetched is not None:
            return self._fetched.key(name), PUBLIC
        if name not in self._keys:
            raise jwt.InvalidKeyError("unknown key id")
        return self._keys[name], PUBLIC


class _FetchedKeys:
    """Public keys at a URL: fetched once in a while and for a key that is not among them, never at callers' bidding.

    Args:
        url: Of a JWK set.
    """

    def __init__(self, url: str) -> None:
        self._client = jwt.PyJWKClient(url, timeout=5, cache_jwk_set=False)
        self._lock, self._fetching = threading.Lock(), threading.Lock()
        self._keys: dict[str, Any] = {}
        self._fetched = self._asked = float("-inf")

    def key(self, name: str | None) -> Any:
        """The key of this id. Those of the last good answer go on to serve while the URL cannot be read.

        Raises:
            PyJWTError: There is none.
            Problem: 503: no keys could be had so far.
        """
        now = time.monotonic()
        with self._lock:
            old = name not in self._keys or now - self._fetched > KEYS_SECONDS
            waited = now - self._asked >= (REFRESH_SECONDS if self._keys else RETRY_SECONDS)
            due = old and waited and self._fetching.acquire(blocking=False)
            if due:
                self._asked = now
        if due:
            try:
                self._fetch()
            finally:
                self._fetching.release()
        elif not self._keys:
            # The first callers come together: all but one wait for what that one fetches.
            with self._fetching:
                pass
        if not self._keys:
            raise unavailable("the keys that tokens are checked with cannot be read just now")
        if name not in self._keys:
            raise jwt.InvalidKeyError("unknown key id")
        return self._keys[name]

    def _fetch(self) -> None:
        try:
            found = self._client.get_signing_keys()
        except jwt.PyJWTError as error:
            logger.warning("the key set cannot be read: %s", type(error).__name__)
            return
        keys = {one.key_id: one.key for one in found if one.key_id and one.key_type in _KEY_TYPES}
        with self._lock:
            self._keys, self._fetched = keys, time.monotonic()


def identity_of(settings: ServingSettings) -> Identity:
    """The identity that the settings ask for."""
    return Anonymous(settings) if settings.auth is None else Bearer(settings.auth)


def check_address(host: str) -> None:
    """Refuse to listen beyond this machine; asked where no authentication is configured.

    Raises:
        ConfigError: The address is not of this machine alone.
    """
    if host != "localhost" and not is_loopback(host):
        raise ConfigError(
            "without authentication the endpoint listens to this machine alone",
            where="http_options.host",
            got=host,
            allowed="127.0.0.1, ::1 or localhost",
            fix="set serving.auth in the settings, or listen on 127.0.0.1",
        )


def is_loopback(address: str | None) -> bool:
    """Whether an address is of this machine."""
    try:
        parsed = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return False
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return (mapped or parsed).is_loopback


def _is_own_name(host: str) -> bool:
    """Whether a Host header names this machine as only its own callers do."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.rpartition(":")[0] or host
    return name.lower().rstrip(".") == "localhost" or is_loopback(name)


def _token(headers: Mapping[str, str]) -> str:
    kind, _, token = headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not token.strip():
        raise unauthorized("a bearer token is needed")
    if len(token) > MAX_TOKEN_BYTES:
        raise unauthorized("the token is too long")
    return token.strip()


def _names(value: object, claim: str) -> frozenset[str]:
    """Values of a claim; anything but a list of names grants nothing."""
    if not isinstance(value, list | tuple) or len(value) > MAX_CLAIM_VALUES:
        raise forbidden(f"the claim `{claim}` is no list of at most {MAX_CLAIM_VALUES} names")
    if not all(isinstance(one, str) and one.strip() for one in value):
        raise forbidden(f"the claim `{claim}` holds something else than names")
    return frozenset(value)


def _secret(path: Path) -> bytes:
    try:
        secret = path.expanduser().read_bytes().strip()
    except OSError as error:
        raise ConfigError("cannot read the token secret", where=path, got=error.strerror) from error
    if len(secret) < MIN_SECRET_BYTES:
        allowed = f"{MIN_SECRET_BYTES} bytes or more"
        raise ConfigError("the token secret is too short to be safe", where=path, got=len(secret), allowed=allowed)
    return secret


def _keys(path: Path) -> dict[str, Any]:
    try:
        found = jwt.PyJWKSet.from_dict(json.loads(path.expanduser().read_text(encoding="utf-8")))
    except (OSError, ValueError, jwt.PyJWTError) as error:
        raise ConfigError("cannot read the public keys", where=path, got=f"{type(error).__name__}: {error}") from error
    public = {key.key_id: key.key for key in found.keys if key.key_id and key.key_type in _KEY_TYPES}
    if not public:
        allowed = "RSA or EC keys with a `kid`"
        raise ConfigError("the key set holds no public key with an id", where=path, allowed=allowed)
    return public
