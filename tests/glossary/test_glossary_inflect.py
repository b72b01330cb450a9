import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from babelray.glossary.inflect.forms import MatchKind, expand
from babelray.glossary.inflect.rules import inflected_languages, language_rules
from babelray.glossary.inflect.spelling import initialism, is_initialism
from babelray.glossary.terms import Term


def forms(source, locale="en", **more):
    more.setdefault("kind", "custom_translation")
    more.setdefault("target", "" if more["kind"] == "non_translatable" else "x")
    term = Term(term_id="t", source_locale=locale, target_locale="es", source=source, **more)
    return {form.text: form for form in expand(term)}


@pytest.mark.parametrize(
    ("locale", "source", "expected"),
    [
        ("en", "policy", "policies"),
        ("en", "cache", "caching cached caches"),
        ("en", "tag", "tagging tagged tags"),
        ("en", "status", "statuses"),
        ("en", "index", "indexes indices"),
        ("en", "Nodes", "Node"),
        ("en", "submit", "submitting submitted"),
        ("en", "cancel", "canceled cancelled cancelling"),
        ("en", "build", "building built"),
        ("en", "child", "children"),
        ("en", "API", "APIs"),
        ("en", "proxy", "proxies proxied"),
        ("en", "string", "strings"),
        ("en", "dependencies", "dependency"),
        ("en", "boxes", "box"),
        ("en", "caches", "cache"),
        ("de", "Einstellung", "Einstellungen"),
        ("de", "Behälter", "Behältern Behälters"),
        ("de", "Datei", "Dateien"),
        ("de", "Bild", "Bilder Bildern Bildes"),
        ("de", "Standardbild", "Standardbildern"),
        ("de", "Zugang", "Zugänge"),
        ("de", "Schlüsselwort", "Schlüsselwörter"),
        ("de", "Benutzerin", "Benutzerinnen"),
        ("de", "asynchron", "asynchrone asynchronen"),
        ("de", "installieren", "installiert installierte"),
        ("de", "starten", "gestartet startet"),
        ("es", "configuración", "configuraciones"),
        ("es", "imagen", "imágenes"),
        ("es", "eliminar", "elimina eliminado eliminando"),
        ("es", "buscar", "busque buscó"),
        ("es", "vez", "veces"),
        ("es", "privado", "privada privadas"),
        ("pt", "aplicação", "aplicações"),
        ("pt", "imagem", "imagens"),
        ("pt", "canal", "canais"),
        ("pt", "excluir", "excluido exclui"),
        ("fr", "réseau", "réseaux"),
        ("fr", "canal", "canaux"),
        ("fr", "privé", "privée privées"),
        ("fr", "supprimer", "supprimé supprimez"),
        ("ru", "контейнер", "контейнера контейнеров контейнерами"),
        ("ru", "ссылка", "ссылки ссылок ссылку"),
        ("ru", "приложение", "приложения приложений"),
        ("ru", "узел", "узла узлов"),
        ("ru", "список", "списка списков"),
        ("ja", "設定する", "設定し"),
        ("ja", "読み込む", "読み込み 読み込ん"),
        ("ja", "開ける", "開け"),
    ],
)
def test_words(locale, source, expected):
    assert set(expected.split()) <= forms(source, locale).keys()


@pytest.mark.parametrize(
    ("locale", "source", "other_words"),
    [
        ("en", "controller", "control controls controlling"),
        ("en", "container", "contain contains contained"),
        ("en", "user", "use used using"),
        ("en", "server", "serve serving"),
        ("en", "string", "str strung stringing"),
        ("en", "testing", "test tested tests"),
        ("en", "mean", "means meaning meant"),
        ("en", "secret", "secreted secretes"),
        ("en", "new", "news"),
        ("en", "set", "setting settings"),
        ("en", "ad", "added adding"),
        ("en", "Kubernetes", "Kubernete"),
        ("en", "canvas", "canva"),
        ("en", "status", "statu"),
        ("en", "object", "objected"),
        ("en", "windows", "window"),
        ("de", "Test", "Tester"),
        ("de", "Rat", "Rate Raten"),
        ("de", "Datum", "Daten"),
        ("es", "caso", "casa casas"),
        ("es", "puerto", "puerta"),
        ("es", "escalar", "escala escalas"),
        ("es", "usar", "uso"),
        ("es", "pasar", "paso"),
        ("fr", "partir", "partie"),
        ("pt", "parar", "para"),
    ],
)
def test_other_words_are_not_forms(locale, source, other_words):
    assert not {word.lower() for word in forms(source, locale)} & set(other_words.split())


@pytest.mark.parametrize(
    ("locale", "source", "expected"),
    [
        ("en", "status code", ["status codes"]),
        ("en", "point of sale", ["points of sale"]),
        ("en", "associate IP", ["associating IP", "associated IPs"]),
        ("en", "Continuous Delivery (CD)", ["Continuous Delivery", "CD"]),
        ("en", "RBAC (Role-Based Access Control)", ["RBAC", "Role-Based Access Control"]),
        ("en", "Vim (editor)", ["Vim"]),
        ("en", "the request body", ["request body", "request bodies"]),
        ("en", "to deploy", ["deploy", "deploying"]),
        ("en", "`Request`", ["Request", "Requests"]),
        ("en", "ConfigMap", ["Config Map", "Config-Map", "ConfigMaps", "Config Maps"]),
        ("en", "plug-in", ["plugin", "plugins", "plug-ins"]),
        ("en", "data frame", ["data-frame", "dataframe", "DataFrame", "data frames"]),
        ("en", "Horizontal Pod Autoscaler", ["HPA", "HPAs", "Horizontal Pod Autoscalers"]),
        ("en", "configuration", ["config", "configs"]),
        ("en", "behavior", ["behaviour", "behaviours"]),
        ("de", "virtuelle Maschine", ["virtuellen Maschine", "virtuelle Maschinen", "virtueller Maschinen"]),
        ("es", "máquina virtual", ["máquinas virtuales"]),
        ("es", "clave de acceso", ["claves de acceso"]),
        ("es", "cerrar sesión", ["cerrando sesión"]),
        ("pt", "chave de acesso", ["chaves de acesso"]),
        ("fr", "machine virtuelle", ["machines virtuelles"]),
        ("ru", "виртуальная машина", ["виртуальной машины", "виртуальных машин", "виртуальными машинами"]),
        ("ru", "политика безопасности", ["политики безопасности", "политикой безопасности"]),
        ("ja", "データベースサーバー", ["データベースサーバ"]),
        ("ja", "Pod セキュリティ", ["Podセキュリティ"]),
        ("zh-CN", "Pod安全", ["Pod 安全"]),
    ],
)
def test_phrases_and_spellings(locale, source, expected):
    assert set(expected) <= forms(source, locale).keys()


def test_what_is_never_made_up():
    assert "plug in" not in forms("plug-in")
    assert "R" in forms("R (programming language)") and forms("R (programming language)")["R"].cased
    assert "programming language" not in forms("R (programming language)")
    assert not {"LB", "UI"} & (forms("Load Balancer").keys() | forms("user interface").keys())
    assert "disk" not in forms("disk (GB*hours)")
    assert "FL" not in forms("for loop")
    assert forms("Load Balancer", expand=False).keys() == {"Load Balancer"}


def test_names_have_a_plural_but_no_verb():
    assert set(forms("Docker", kind="non_translatable")) == {"Docker", "Dockers"}
    assert set(forms("string", part_of_speech="noun")) == {"string", "strings"}


def test_initialisms_that_are_words_need_their_case():
    assert forms("AIDS")["AIDS"].cased
    assert forms("Go", kind="non_translatable")["Go"].cased
    assert not forms("YAML")["YAML"].cased
    assert not forms("AIDS", case="insensitive")["AIDS"].cased
    assert forms("Container", case="sensitive")["Containers"].cased


def test_kinds_and_rules_say_where_a_form_comes_from():
    made = forms("plug-in", aliases=("add-on",), surface_forms=("Plug-In",))
    assert (made["plug-in"].kind, made["plug-in"].rule) == (MatchKind.EXACT, "")
    assert made["Plug-In"].kind is MatchKind.EXACT
    assert made["add-on"].kind is MatchKind.ALIAS
    assert made["add-ons"].kind is MatchKind.INFLECTED
    assert made["plugins"].rule == "hyphen_closed+plural"


@pytest.mark.parametrize(
    ("short", "words", "expected"),
    [
        ("IaaS", "Infrastructure as a Service", True),
        ("mTLS", "Mutual Transport Layer Security", True),
        ("CD", "Continuous Delivery", True),
        ("PTO", "paid time off", True),
        ("RBAC", "Role-Based Access Control", True),
        ("CI", "Continuous Delivery", False),
        ("editor", "Vim", False),
        ("TO", "Paid Time Off", False),
    ],
)
def test_initialism_check(short, words, expected):
    assert is_initialism(short, words) is expected


def test_generated_initialisms():
    assert initialism("current working directory") == "CWD"
    assert initialism("Load Balancer") is None
    assert initialism("the API Router") is None


@pytest.mark.parametrize("language", inflected_languages())
def test_every_rule_file_is_valid_and_its_bans_ban_something(language):
    rules = language_rules(language)
    assert rules is not None and rules.language == language
    assert {"en", "de", "es", "fr", "pt", "ja", "zh", "ru"} <= set(inflected_languages())
    for rule in rules.rules:
        for endings in rule.slots.values():
            assert "\\" not in endings.replace("\\1", "").replace("\\2", "")


@pytest.mark.parametrize(
    ("source", "plural"), [("café", "cafés"), ("cliché", "clichés"), ("file café", "file cafés"), ("C3", "C3s")]
)
def test_english_plurals_of_words_that_end_in_other_letters(source, plural):
    assert plural in forms(source, "en")


@given(
    st.text(st.characters(exclude_categories=["Cc"]), max_size=30),
    st.sampled_from(["en", "de", "es", "ru", "ja", "xx"]),
)
@example("alter  Knoten", "de")
def test_property_any_term_expands_to_at_least_itself(source, locale):
    if any(character.isprintable() and not character.isspace() for character in source):
        made = forms(source, locale)
        assert made[source].kind is MatchKind.EXACT
        assert len(made) < 800
