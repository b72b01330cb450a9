import pytest

from babelray.errors import InputError
from babelray.index.access import AccessClass, AccessTable, AccessValues
from babelray.index.access_changes import changed_table, parse_changes

ENG = AccessValues("acme", "docs", ("eng",), "active")
HR = AccessValues("acme", "wiki", ("hr",), "active")
OTHER = AccessValues("zeta", "docs", ("eng",), "active")


def table():
    return AccessTable("r1", tuple(AccessClass(one, one) for one in (ENG, HR, OTHER)))


def changed(*changes):
    return changed_table(table(), parse_changes(list(changes), "test"))


def effective(result):
    return [one.effective for one in result.classes]


def test_a_class_is_changed_for_its_tenant_only_and_reset():
    opened = {
        "action": "set_class",
        "where": {"tenant_id": "acme", "groups": ["eng"]},
        "set": {"groups": ["ops", "eng"]},
    }
    result = changed(opened)
    assert effective(result) == [AccessValues("acme", "docs", ("eng", "ops"), "active"), HR, OTHER]
    assert [one.declared for one in result.classes] == [ENG, HR, OTHER]
    assert effective(changed(opened, {"action": "reset_class", "where": {"tenant_id": "acme"}})) == [ENG, HR, OTHER]


def test_selectors_read_declared_values_so_a_file_can_be_applied_twice():
    change = {"action": "set_class", "where": {"tenant_id": "acme", "groups": ["eng"]}, "set": {"groups": []}}
    once = changed(change)
    assert effective(once)[0].groups == ()
    twice = changed_table(once, parse_changes([change], "test"))
    assert effective(twice) == effective(once)


def test_documents_are_overridden_deleted_and_brought_back():
    override = {
        "action": "set_document", "doc_id": "d1", "tenant_id": "acme", "knowledge_base_id": "docs", "groups": ["hr"],
    }  # fmt: skip
    gone = {"action": "delete_document", "doc_id": "d2"}
    result = changed(override, gone)
    assert result.overrides == {"d1": AccessValues("acme", "docs", ("hr",), "active")}
    assert result.deleted == {"d2"}
    back = parse_changes(
        [{"action": "reset_document", "doc_id": "d1"}, {"action": "restore_document", "doc_id": "d2"}], "test"
    )
    assert changed_table(result, back) == table()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"action": "set_class", "where": {"tenant_id": "acme"}, "set": {"tenant_id": "zeta"}}, "set.tenant_id"),
        ({"action": "set_class", "where": {"groups": ["eng"]}, "set": {}}, "tenant_id"),
        ({"action": "open_all"}, "entry 0"),
        ({"action": "delete_document", "doc_id": ""}, "doc_id"),
        ("everything", "entry 0"),
    ],
)
def test_a_wrong_entry_is_named(change, message):
    with pytest.raises(InputError, match=message):
        parse_changes([change], "test")


def test_a_selector_that_matches_nothing_is_an_error():
    with pytest.raises(InputError, match="no access class matches"):
        changed({"action": "reset_class", "where": {"tenant_id": "acme", "status": "draft"}})


def test_the_list_may_stand_under_one_key():
    assert parse_changes({"changes": [{"action": "delete_document", "doc_id": "d"}]}, "t")[0].doc_id == "d"
    with pytest.raises(InputError, match="the whole file"):
        parse_changes({"change": []}, "t")
