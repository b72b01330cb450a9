"""The page in a real Chromium, over the real endpoint, with pages that try to break out of it."""

import re

import pytest

from serve.web import HEADERS
from tests.serve.serve_worlds import token
from tests.serve.web_worlds import PAGES, SCRIPT, browser, create, running

pytestmark = [
    pytest.mark.http,
    pytest.mark.skipif(browser() is None, reason="no Chromium: apt-get install chromium"),
]
QUERIES = {"ferry": "ticket for the harbour ferry", "port": "ثمن تذكرة العبّارة", "gang": "渡轮票价是多少"}


@pytest.fixture(scope="module")
def world(ray_cluster, tmp_path_factory):
    return create(tmp_path_factory.mktemp("web"))


@pytest.fixture(scope="module")
def address(world):
    with running(world.settings(auth=None, anonymous_tenant="acme", anonymous_groups=["staff"])) as url:
        yield url


@pytest.fixture(scope="module")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with playwright.sync_playwright() as started:
        # The tests may run as root, where Chromium's sandbox does not start; the pages are our own.
        opened = started.chromium.launch(executable_path=browser(), args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def open_page(chromium):
    """Opens the page; at the end nothing may have been said in the console or asked of another address."""
    contexts, said, asked = [], [], []

    def start(url, allowed=(), **options):
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        context.set_default_timeout(20_000)
        contexts.append(context)
        page = context.new_page()
        expected = re.compile("|".join(allowed) or r"(?!)")
        page.on("console", lambda one: said.append(one.text) if not expected.search(one.text) else None)
        page.on("pageerror", lambda one: said.append(str(one)))
        page.on("request", lambda one: asked.append(one.url) if not one.url.startswith(url) else None)
        page.goto(url)
        return page

    yield start
    for context in contexts:
        context.close()
    assert said == []
    assert asked == []


def ask(page, query, results="#results article"):
    page.fill("#query", query)
    page.keyboard.press("Enter")
    page.wait_for_selector(results)
    page.wait_for_selector("#panel-search:not([aria-busy])")


def answer_of(page, address, query, **body):
    return page.request.post(f"{address}/v1/retrieve", data={"query": query, **body}).json()


@pytest.mark.parametrize("name", PAGES)
def test_seed_sentences_are_marked_at_exactly_their_characters(open_page, address, name):
    page = open_page(address)
    ask(page, QUERIES[name])
    language, _, text = PAGES[name]
    first = answer_of(page, address, QUERIES[name])["passages"][0]
    assert first["citation"]["source_uri"].endswith(f"#{name}")
    assert first["seeds"]
    quote = page.locator(".quote.cut").first
    assert quote.text_content() == text[first["citation"]["start"] : first["citation"]["end"]]
    assert quote.get_attribute("lang").startswith(language)
    # Marks are cut where something suspicious begins inside; those of one seed stand side by side.
    places = quote.evaluate(
        """quote => { let at = 0; const found = [];
        const walk = (node, marked) => { if (node.nodeType === 3) { const size = [...node.data].length;
            if (marked) for (let n = at; n < at + size; n += 1) found.push(n); at += size; }
          else for (const one of node.childNodes) walk(one, marked || one.nodeName === 'MARK'); };
        walk(quote, false); return found; }"""
    )
    start = first["citation"]["start"]
    assert places == sorted({n - start for a, b in first["seeds"] for n in range(a, b)})


def test_what_pages_say_never_becomes_part_of_the_page(open_page, address):
    page = open_page(address)
    page.check("#previews")
    page.select_option("#answer-language", "de")
    ask(page, QUERIES["ferry"])
    assert page.evaluate("window.stolen") is None
    assert page.locator("#results script, #results img, #trace script").count() == 0
    assert SCRIPT in page.locator("#results h2").first.text_content()
    careful = page.locator("#results .chip.bad").first.text_content()
    assert "hidden characters" in careful
    assert "an instruction to a model" in careful
    assert "Ignore all previous instructions" in page.locator(".suspicion").all_text_contents()
    hidden = page.locator(".suspicion[data-code='U+200B']").first
    # Shown by the style alone: whoever copies the quote copies the original.
    assert hidden.text_content() == "\u200b"
    assert "U+200B" in hidden.evaluate("one => getComputedStyle(one, '::after').content")
    preview = page.locator(".quote.preview").first
    assert preview.get_attribute("lang") == "de"
    assert preview.text_content().startswith("THE HARBOUR 🚢🚢 HAS ONE FERRY. <SCRIPT>")
    assert "tr a-z A-Z" in page.locator(".made").first.text_content()
    assert "not evidence" in page.locator(".sides.two .side h3").nth(1).text_content()


def test_a_script_in_the_query_stays_text_everywhere(open_page, address):
    page = open_page(address)
    ask(page, f"harbour ferry {SCRIPT}")
    assert page.evaluate("window.stolen") is None
    assert f"harbour ferry {SCRIPT}" in page.locator("#trace tbody th").all_text_contents()


def test_an_answer_says_what_made_it_and_why(open_page, address):
    page = open_page(address)
    ask(page, QUERIES["ferry"])
    said = answer_of(page, address, QUERIES["ferry"], explain=True)
    assert page.text_content("#generation") == said["generation"]
    assert page.text_content("#model") == said["model_key"]
    assert page.get_attribute("#results time", "datetime") == "2026-03-04T05:06:07Z"
    tables = page.locator("#trace table")
    stages = [one["name"] for one in said["trace"]["stages"]]
    assert sorted(tables.nth(0).locator("tbody th").all_text_contents()) == sorted(stages)
    rows = tables.nth(2).locator("tbody tr").all()
    assert len(rows) == len(said["trace"]["candidates"])
    ranks = [int(row.locator("td").first.text_content()) for row in rows]
    assert ranks == [one["fused_rank"] for one in said["trace"]["candidates"]]
    fates = [row.locator(".fate").text_content() for row in rows]
    assert fates == [one["removed_reason"] or "in the answer" for one in said["trace"]["candidates"]]
    found_by = page.locator("#results .channels").first.text_content()
    assert all(f"#{place['rank']}" in found_by for place in said["passages"][0]["channels"].values())
    page.uncheck("#explain")
    ask(page, QUERIES["gang"])
    assert page.locator("#trace table").count() == 0


def test_an_unclear_name_is_asked_back_and_the_choice_searches_again(open_page, address):
    page = open_page(address)
    ask(page, "Springfield", "#search-notices .ask-back")
    notices = page.text_content("#search-notices")
    assert "can be read in several ways" in notices
    assert "A name in the query may mean several things." in notices
    page.click("text=Springfield South")
    page.wait_for_selector("#search-notices .ask-back", state="detached")
    assert page.input_value("#query") == "Springfield South"


def test_what_was_done_without_is_said_once_in_plain_words(open_page, address):
    page = open_page(address)
    page.check("#previews")
    page.select_option("#answer-language", "ja")
    ask(page, QUERIES["gang"])
    missing = answer_of(page, address, QUERIES["gang"], previews=True, answer_language="ja")["degraded"]
    assert {one["reason"] for one in missing} == {"preview_translation_failed"}
    said = page.locator("#search-notices li").all_text_contents()
    assert len(said) == 1
    assert said[0].startswith("Some passages have no translation. Instead: ")
    assert all(one["detail"] in said[0] for one in missing)


def test_a_question_of_a_stranger_finds_nothing_and_can_be_reported(open_page, world):
    with running(world.settings(auth=None, anonymous_tenant="nobody")) as url:
        page = open_page(url)
        ask(page, QUERIES["ferry"], "#results .empty")
        page.click("text=Report that something is missing")
        assert page.locator("#report-form [value=missing]").is_checked()


def test_everything_can_be_done_by_keyboard(open_page, address, world):
    page = open_page(address)
    focused = "document.activeElement.id"
    assert page.evaluate(focused) == "query"
    page.keyboard.type(QUERIES["ferry"])
    page.keyboard.press("Enter")
    page.wait_for_selector("#results article")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('report')"):
            break
    page.keyboard.press("Enter")
    assert page.locator("#report-dialog").evaluate("dialog => dialog.open")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.type("the price is old")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("#report-status:has-text('Thank you')")
    (kept,) = (world.job.root / "feedback").rglob("*.json")
    assert '"comment": "the price is old"' in kept.read_text()
    assert '"kind": "wrong_translation"' in kept.read_text()
    page.wait_for_selector("#report-dialog", state="hidden")
    page.focus("#tab-search")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == "tab-localize"
    assert page.locator("#panel-localize").is_visible()
    page.keyboard.press("End")
    assert page.evaluate(focused) == "tab-indexes"
    page.keyboard.press("Home")
    assert page.locator("#panel-search").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_all_of_it_and_every_text_can_be_read(open_page, address, scheme):
    page = open_page(address, viewport={"width": 360, "height": 740}, color_scheme=scheme)
    page.check("#previews")
    ask(page, QUERIES["port"])
    quote = page.locator(".quote.cut").first
    assert quote.evaluate("one => getComputedStyle(one).direction") == "rtl"
    for tab in ("search", "localize", "indexes"):
        page.click(f"#tab-{tab}")
        if tab == "indexes":
            page.wait_for_selector("#indexes article")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.click("#tab-search")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", dark)[:3])) < 150) is (scheme == "dark")
    low = page.evaluate(CONTRAST)
    assert low == []


CONTRAST = """() => {
  // Contrast as WCAG 2 has it, of every visible text against the nearest painted ground.
  const parse = (colour) => { const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number);
    return { rgb: [r, g, b], a }; };
  const light = (rgb) => { const [r, g, b] = rgb.map((one) => { const c = one / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = (one) => { for (let at = one; at; at = at.parentElement) {
    const { rgb, a } = parse(getComputedStyle(at).backgroundColor); if (a === 1) return rgb; }
    return [255, 255, 255]; };
  const low = [];
  for (const one of document.querySelectorAll('body *')) {
    const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !one.checkVisibility({ visibilityProperty: true }) || one.disabled) continue;
    const [a, b] = [light(parse(getComputedStyle(one).color).rgb), light(ground(one))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.push(`${one.tagName}.${one.className} ${one.textContent.slice(0, 30)} ${ratio.toFixed(2)}`);
  }
  return low;
}"""


def test_every_control_has_a_name(open_page, address):
    page = open_page(address)
    ask(page, QUERIES["ferry"])
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, textarea')]
        .filter(one => !(one.textContent.trim() && one.tagName === 'BUTTON') && !(one.labels && one.labels.length)
          && !one.getAttribute('aria-label')).map(one => one.outerHTML)"""
    )
    assert nameless == []
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))


def test_localizing_shows_terms_output_and_adherence(open_page, address):
    page = open_page(address)
    page.click("#tab-localize")
    page.fill("#payload", '{"t": "🚢 The backup of Orchard", "n": 1.50, "h": "Retention periods of <b>3</b> days"}')
    page.focus("#payload")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#adherence")
    assert page.text_content("#payload-out").startswith('{"t": "🚢 THE copia OF Orchard", "n": 1.50,')
    assert page.locator("mark.term").all_text_contents() == ["backup", "Orchard", "Retention periods"]
    assert page.text_content("#adherence") == "3 of 3 terms honoured"
    assert "backup→copia" in page.locator("#localized .terms").first.text_content()
    page.fill("#payload", "{not json")
    page.click("#localize-form .main-button")
    page.wait_for_selector("text=This is not JSON")


def test_the_indexes_are_described(open_page, address):
    page = open_page(address)
    page.click("#tab-indexes")
    page.wait_for_selector("#indexes article")
    (index,) = page.request.get(f"{address}/v1/indexes").json()["indexes"]
    text = page.text_content("#indexes")
    assert index["generation"] in text
    assert f"Documents{index['documents']}" in text
    assert sorted(page.locator(".langs tbody th").all_text_contents()) == ["Arabic", "English", "Simplified Chinese"]
    assert "serving" in page.locator("#indexes .scroll tbody tr").first.text_content()


def test_one_of_several_indexes_is_chosen_and_searched(open_page, world, tmp_path):
    other = world.job.with_(index="trip", corpus="trip", sources=world.job.settings.model_dump(mode="json")["sources"])
    other.run()
    own = world.__class__(other, {**world.values, "index": "trip"}).write(tmp_path / "trip.yaml")
    indexes = [{"name": "web"}, {"name": "trip", "config": str(own)}]
    settings = world.settings(auth=None, anonymous_tenant="acme", anonymous_groups=["staff"], indexes=indexes)
    with running(settings) as url:
        page = open_page(url)
        page.wait_for_selector("#index-choice:not([hidden])")
        assert page.locator("#index option").all_text_contents() == ["trip", "web"]
        generations = {
            one["name"]: one["generation"] for one in page.request.get(f"{url}/v1/indexes").json()["indexes"]
        }
        for name in ("web", "trip"):
            page.select_option("#index", name)
            ask(page, QUERIES["ferry"])
            assert page.text_content("#generation") == generations[name]
        page.click("#tab-indexes")
        page.wait_for_selector("#indexes article:nth-of-type(2)")
        assert all(one in page.text_content("#indexes") for one in generations.values())


def test_a_token_is_asked_for_kept_in_this_tab_and_sent(open_page, world):
    with running(world.settings()) as url:
        page = open_page(url, allowed=["status of 401", "status of 403"])
        ask(page, QUERIES["ferry"], "#search-notices .notice.bad")
        assert "A token is needed" in page.text_content("#search-notices")
        page.click("text=Enter a token")
        page.fill("#token", token())
        assert "tenant acme · groups staff · good until" in page.text_content("#token-claims")
        page.click("#token-form .main-button")
        assert page.text_content("#token-state") == "Tenant acme"
        ask(page, QUERIES["ferry"])
        assert page.locator("#results article").count() >= 1
        assert page.evaluate("[sessionStorage.length, localStorage.length, document.cookie]") == [1, 0, ""]
        page.click("#tab-indexes")
        page.wait_for_selector("#indexes article")
        assert "Counts are over all tenants" in page.text_content("#indexes")
        page.click("#token-open")
        page.click("#token-forget")
        page.wait_for_selector("#indexes .notice.bad")
        assert page.evaluate("sessionStorage.length") == 0
        page.click("#tab-search")
        assert page.locator("#results article").count() == 0


def test_an_overloaded_service_says_when_to_come_back(open_page, address):
    page = open_page(address, allowed=["status of 429"])
    problem = {"title": "overloaded", "status": 429, "detail": "too many requests are waiting", "request_id": "r1"}

    def busy(route):
        route.fulfill(status=429, headers={"Retry-After": "1"}, json=problem, content_type="application/problem+json")

    page.route("**/v1/retrieve", busy)
    ask(page, "ferry", "#search-notices .notice.bad")
    assert "too many requests are waiting" in page.text_content("#search-notices")
    page.unroute("**/v1/retrieve")
    # Clicking waits until the button may be used, which is after the second that the service asked for.
    page.click("#search-notices button")
    page.wait_for_selector("#results article")


def test_the_endpoint_serves_the_page_with_its_headers(address):
    import httpx

    answer = httpx.get(address, trust_env=False)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "x-request-id" in answer.headers
