"""Every shape on every server: merged with equal rows and without losses, and restored by the rollback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import fresh_database
from tests.migration import made, zoo
from tests.recorded import FIXTURES


@pytest.mark.parametrize("fixture", FIXTURES)
def test_zoo(fixture: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    generation = FIXTURES[fixture]
    dsn = fresh_database(request.getfixturevalue(fixture), "mig_zoo")
    names = zoo.make(dsn, generation)
    plan = made.plan_of(dsn, made.EAGER + "merge_lists = 10\n")
    rows, picture = zoo.contents(dsn, names), zoo.picture(dsn, generation)
    files = made.written(dsn, tmp_path / "sql", plan, count=True)
    assert files.refused == []
    assert len(files.forward()) == len(names)
    assert files.steps >= 2 * len(names) - 4
    files.all()
    assert zoo.contents(dsn, names) == rows
    after = zoo.picture(dsn, generation)
    assert len(after) < len(picture)
    for name in picture.keys() & after.keys():  # roots, default partitions and unchanged partitions
        assert after[name] == picture[name], name
    merged = {n: v for n, v in after.items() if n not in picture}
    owned = {
        n: v
        for n, v in merged.items()
        if n.startswith(("public.aoco_", "public.plain_")) and "idx" not in n
    }
    assert owned
    assert not [n for n in after if "gpc_" in n or "gpr_" in n]
    if generation.startswith("gp"):
        for name, (_, owner, acl, storage, comment, indexes, _, _, _, encodings) in owned.items():
            old = picture["public.aoco_1_prt_3"]
            assert (owner, storage, encodings) == (old[1], old[3], old[9]), name
            assert sorted(acl.strip("{}").split(",")) == sorted(old[2].strip("{}").split(",")), name
            assert indexes == f"{name.removeprefix('public.')}_v_idx falsefalse"
            assert comment == ("the 26th" if name.endswith("2020m01") else None)
    # a second run does nothing
    for name in files.forward():
        assert "readers waited" not in files.run(name).stderr
    for name in files.forward():
        files.run(f"rollback/{name}")
    assert zoo.contents(dsn, names) == rows
    back = zoo.picture(dsn, generation)
    assert back.keys() == picture.keys()
    for name, was in picture.items():
        assert _plain(back[name]) == _plain(was), name
    # the plan can be run again after the rollback
    for name in files.forward()[:2]:
        assert "readers waited" in files.run(name).stderr
    files.run("cleanup.sql")
    assert (
        made.fetch(
            dsn, "SELECT relname FROM pg_class WHERE relname LIKE 'gpc%' OR relname LIKE 'gpr%'"
        )
        == []
    )
    assert made.fetch(dsn, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'gpcatalog%'") == []
    assert (
        made.fetch(dsn, "SELECT conname FROM pg_constraint WHERE conname LIKE 'gpcatalog%'") == []
    )


def _plain(values: tuple[object, ...]) -> list[object]:
    """A NULL ACL and an ACL with only the owner's privileges are the same."""
    acl = values[2]
    items = sorted(str(acl).strip("{}").split(",")) if acl else []
    owner = str(values[1])
    return [*values[:2], [i for i in items if not i.startswith(f"{owner}=")], *values[3:]]
