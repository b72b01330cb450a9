import pyarrow as pa
import pytest

from babelray.config import HashSettings, Settings, SourceSettings
from babelray.errors import InputError
from babelray.index.layout import LAYOUT
from babelray.index.manifest import SegmentRecord
from babelray.index.store import open_store
from jobs.assemble import _refuse_duplicates
from jobs.planning import make_plan


@pytest.mark.parametrize(("second", "refused"), [(["d3", "d4"], False), (["d4", "d1"], True)])
def test_a_document_in_two_segments_is_refused_by_name(tmp_path, second, refused):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "page.md").write_text("# Title\n\nText.\n", encoding="utf-8")
    source = SourceSettings(path=str(tmp_path / "in"), format="markdown")
    settings = Settings(store=str(tmp_path / "store"), sources=(source,), embedder=HashSettings(kind="hash"))
    plan, _ = make_plan(settings)
    store = open_store(settings.store)
    generation = LAYOUT.index(plan.record.index).generation(plan.record.generation)
    segments = []
    for name, ids in (("0000-aaaaaaaa", ["d1", "d2"]), ("0001-bbbbbbbb", second)):
        sink = pa.BufferOutputStream()
        table = pa.table({"doc_id": pa.array(ids, pa.string())})
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        store.write_atomic(generation.segment(name).documents, sink.getvalue().to_pybytes())
        segments.append(SegmentRecord(name=name, rows=2, sentences=2, documents=2, files={}, content_digest="x"))
    if refused:
        with pytest.raises(InputError, match="twice") as caught:
            _refuse_duplicates(store, plan, tuple(segments))
        assert caught.value.got == "d1"
    else:
        _refuse_duplicates(store, plan, tuple(segments))
