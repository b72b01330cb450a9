"""Every way to a scope that one should not have."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from babelray.config import AuthSettings, ServingSettings
from babelray.errors import ConfigError
from serve.identity import Anonymous, Bearer, _FetchedKeys, is_loopback
from serve.problems import Problem
from tests.serve.serve_worlds import AUDIENCE, SECRET, bearer, token


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret"
    path.write_text(SECRET + "\n")
    return Bearer(AuthSettings(secret_file=path, audience=AUDIENCE, issuer=None))


def scope(identity, headers):
    return identity.scope_of({name.lower(): value for name, value in headers.items()}, "10.0.0.7")


def status(identity, headers):
    with pytest.raises(Problem) as caught:
        scope(identity, headers)
    return int(caught.value.status)


def test_claims_become_a_scope(secret):
    found = scope(secret, bearer(groups=["a", "b"], knowledge_bases=["x"]))
    assert (found.tenant_id, found.groups, found.knowledge_bases) == ("acme", {"a", "b"}, {"x"})
    assert scope(secret, bearer(groups=None)).groups == frozenset()
    assert scope(secret, bearer()).knowledge_bases is None


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": 1}, {"exp": None}, {"aud": "another"}, {"aud": None}, {"nbf": 99_999_999_999},
        {"key": "another secret that is as long as the other one"},
    ],
)  # fmt: skip
def test_a_token_that_cannot_be_trusted_is_401(secret, claims):
    assert status(secret, bearer(**claims)) == 401


@pytest.mark.parametrize(
    "headers",
    [
        {}, {"Authorization": ""}, {"Authorization": "Basic YTpi"}, {"Authorization": "Bearer"},
        {"Authorization": "Bearer x.y.z"}, {"Authorization": "Bearer " + "x" * 20_000},
    ],
)  # fmt: skip
def test_without_a_token_it_is_401(secret, headers):
    assert status(secret, headers) == 401


@pytest.mark.parametrize(
    "claims",
    [
        {"tenant": None}, {"tenant": ""}, {"tenant": ["a", "b"]}, {"tenant": 7}, {"groups": "staff"},
        {"groups": ["a", 1]}, {"groups": ["*"]}, {"knowledge_bases": "x"}, {"groups": ["x"] * 1001},
    ],
)  # fmt: skip
def test_a_token_that_grants_nothing_clear_is_403(secret, claims):
    assert status(secret, bearer(**claims)) == 403


def test_a_claim_of_null_is_not_a_claim_that_is_not_there(secret):
    claims = {"aud": AUDIENCE, "exp": 99_999_999_999, "tenant": "acme", "groups": [], "knowledge_bases": None}
    assert status(secret, {"Authorization": f"Bearer {jwt.encode(claims, SECRET, 'HS256')}"}) == 403


def test_a_token_cannot_say_that_it_needs_no_signature(secret):
    claims = {"aud": AUDIENCE, "exp": 99_999_999_999, "tenant": "acme"}
    assert status(secret, {"Authorization": f"Bearer {jwt.encode(claims, None, 'none')}"}) == 401


@pytest.fixture(params=["RS256", "ES256"])
def public(request, tmp_path):
    """Private key, its algorithm, and an identity that knows the public half."""
    key = (
        rsa.generate_private_key(65_537, 2048) if request.param == "RS256" else ec.generate_private_key(ec.SECP256R1())
    )
    algorithm = jwt.algorithms.get_default_algorithms()[request.param]
    entry = json.loads(algorithm.to_jwk(key.public_key())) | {"kid": "k1", "alg": request.param, "use": "sig"}
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [entry]}))
    return key, request.param, Bearer(AuthSettings(jwks_file=path, audience=AUDIENCE))


def test_public_keys_verify_what_private_ones_signed(public):
    key, algorithm, identity = public
    headers = {"Authorization": f"Bearer {token(key, algorithm, {'kid': 'k1'})}"}
    assert scope(identity, headers).tenant_id == "acme"
    unknown = {"Authorization": f"Bearer {token(key, algorithm, {'kid': 'k2'})}"}
    assert status(identity, unknown) == 401
    assert status(identity, {"Authorization": f"Bearer {token(key, algorithm)}"}) == 401, "no key id"


@pytest.fixture
def fetched(public):
    """The same keys behind a URL: key, algorithm, identity, and how often they were fetched."""
    key, algorithm, known = public
    (name, _), times = next(iter(known._keys.items())), []
    entry = json.loads(jwt.algorithms.get_default_algorithms()[algorithm].to_jwk(key.public_key())) | {"kid": name}

    class Keys(BaseHTTPRequestHandler):
        def do_GET(self):
            times.append(self.path)
            body = json.dumps({"keys": [entry, {"kty": "oct", "kid": "shared", "k": "c2VjcmV0"}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Keys)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    identity = Bearer(AuthSettings(jwks_url="https://keys.invalid/jwks", audience=AUDIENCE))
    # Settings take https alone; a test's own server has no certificate.
    identity._fetched = _FetchedKeys(f"http://127.0.0.1:{server.server_port}/jwks")
    yield key, algorithm, identity, times
    server.shutdown()
    server.server_close()


def test_unknown_key_ids_do_not_make_us_fetch_keys_again_and_again(fetched):
    key, algorithm, identity, times = fetched
    good = {"Authorization": f"Bearer {token(key, algorithm, {'kid': 'k1'})}"}
    assert scope(identity, good).tenant_id == "acme" and len(times) == 1
    for number in range(20):
        made_up = {"Authorization": f"Bearer {token(key, algorithm, {'kid': f'x{number}'})}"}
        assert status(identity, made_up) == 401
    assert len(times) == 1, "they were fetched a moment ago"
    assert status(identity, {"Authorization": f"Bearer {token(key, algorithm)}"}) == 401, "no key id"
    shared = {"Authorization": f"Bearer {token('secret' * 8, 'HS256', {'kid': 'shared'})}"}
    assert status(identity, shared) == 401
    assert scope(identity, good).tenant_id == "acme" and len(times) == 1


def test_callers_who_come_together_at_first_fetch_once_and_are_all_heard(fetched):
    key, algorithm, identity, times = fetched
    good = {"Authorization": f"Bearer {token(key, algorithm, {'kid': 'k1'})}"}
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: scope(identity, good).tenant_id, range(8)))
    assert found == ["acme"] * 8 and len(times) == 1


def test_keys_that_cannot_be_had_are_no_fault_of_the_token(fetched, monkeypatch):
    key, algorithm, identity, _ = fetched
    good = {"Authorization": f"Bearer {token(key, algorithm, {'kid': 'k1'})}"}
    known = identity._fetched
    monkeypatch.setattr("serve.identity.KEYS_SECONDS", 0.0)
    monkeypatch.setattr("serve.identity.REFRESH_SECONDS", 0.0)
    assert scope(identity, good).tenant_id == "acme"
    fetch = []

    def down():
        fetch.append(1)
        raise jwt.PyJWKClientConnectionError("down")

    monkeypatch.setattr(known._client, "get_signing_keys", down)
    assert scope(identity, good).tenant_id == "acme" and fetch, "the last good keys go on to serve"
    known._keys, known._asked = {}, float("-inf")
    assert [status(identity, good) for _ in range(5)] == [503] * 5
    assert len(fetch) == 2, "and nobody's request makes us ask each time"


def test_a_public_key_is_never_taken_for_a_secret(public):
    """Key confusion: the public key, which everybody has, used as the secret of HS256."""
    key, _, identity = public
    pem = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    import hashlib
    import hmac

    def part(data):
        return jwt.utils.base64url_encode(json.dumps(data).encode())

    head = part({"alg": "HS256", "typ": "JWT", "kid": "k1"})
    body = part({"aud": AUDIENCE, "exp": 99_999_999_999, "tenant": "acme"})
    signature = jwt.utils.base64url_encode(hmac.new(pem, head + b"." + body, hashlib.sha256).digest())
    forged = b".".join((head, body, signature)).decode()
    assert status(identity, {"Authorization": f"Bearer {forged}"}) == 401


def test_an_issuer_is_asked_for_if_one_is_set(tmp_path):
    path = tmp_path / "secret"
    path.write_text(SECRET)
    identity = Bearer(AuthSettings(secret_file=path, audience=AUDIENCE, issuer="https://us"))
    assert scope(identity, bearer(iss="https://us")).tenant_id == "acme"
    assert status(identity, bearer(iss="https://them")) == 401 == status(identity, bearer())


def test_keys_that_cannot_be_used_are_said_at_the_start(tmp_path):
    short, broken, empty = (tmp_path / name for name in ("short", "broken", "empty"))
    short.write_text("too short")
    broken.write_text("not JSON")
    empty.write_text('{"keys": []}')
    with pytest.raises(ConfigError, match="too short"):
        Bearer(AuthSettings(secret_file=short, audience="a"))
    for path in (broken, empty, tmp_path / "missing"):
        with pytest.raises(ConfigError):
            Bearer(AuthSettings(jwks_file=path, audience="a"))
    with pytest.raises(ValueError, match="exactly one"):
        AuthSettings(secret_file=short, jwks_file=short, audience="a")
    with pytest.raises(ValueError, match="exactly one"):
        AuthSettings(audience="a")


def test_without_authentication_only_this_machine_is_heard():
    identity = Anonymous(ServingSettings(anonymous_tenant="t", anonymous_groups=("g",)))
    here = {"host": "127.0.0.1:8000"}
    for host in ("127.0.0.1:8000", "localhost", "LOCALHOST.:80", "[::1]:8000", "127.0.0.9"):
        found = identity.scope_of({"host": host}, "127.0.0.1")
        assert (found.tenant_id, found.groups) == ("t", {"g"})
    rebound = [
        ({"host": name}, "127.0.0.1") for name in ("evil.org:8000", "localhost.evil.org", "", "[::2]:80", "0.0.0.0")
    ]
    forwarded = ({**here, "x-forwarded-for": "1.2.3.4"}, "127.0.0.1")
    for headers, peer in ((here, "10.0.0.7"), (here, None), ({}, "127.0.0.1"), forwarded, *rebound):
        with pytest.raises(Problem) as caught:
            identity.scope_of(headers, peer)
        assert int(caught.value.status) == 403


@pytest.mark.parametrize(
    ("address", "own"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("::ffff:127.0.0.1", True), ("0.0.0.0", False),
     ("10.0.0.1", False), ("", False), (None, False), ("localhost.evil.org", False), ("testclient", False)],
)  # fmt: skip
def test_addresses_of_this_machine(address, own):
    assert is_loopback(address) is own
