"""The site on disk: files that are written, kept, removed and refused; its links and its data."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from gpcatalog.errors import CatalogError, Exit
from gpcatalog.fleet.lock import exclusive
from gpcatalog.site import state
from gpcatalog.store.snapshot import Snapshot
from tests.growth import made
from tests.site.conftest import Site, series, write

pytestmark = pytest.mark.xdist_group("site")  # the snapshots are written only once

HREF = re.compile(r'<a [^>]*?href="([^"]*)"')
SRC = re.compile(r'<script src="([^"]*)"')


def files(folder: Path) -> dict[str, int]:
    """Modification time of each file of the site, without the state and the lock."""
    return {
        str(path.relative_to(folder)): path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if path.is_file() and path.name not in (state.FILE, state.LOCK)
    }


def data(path: Path) -> Any:
    """The data that a script passes to its page."""
    found = re.fullmatch(r"gpcatalog\.\w+\((.*)\);\n", path.read_text(), re.S)
    assert found
    return json.loads(found[1])


# --- the files ------------------------------------------------------------------------------------


def test_pages_of_all_databases(site: Site, filled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    result = site(folder)
    assert result.exit_code == Exit.USAGE  # because of the file that is not a snapshot
    assert result.stdout == f"{folder / 'index.html'}\n"
    assert "crm-5432/bad: " in result.stderr
    assert "5 databases, 0 unchanged; 21 files written, 0 removed" in result.stderr
    overview = (folder / "index.html").read_text()
    assert "5 databases of 2 clusters:" in overview
    assert "1 not read" in overview
    assert "is not a readable snapshot" in overview
    for place in ("mdw-5432/sales", "crm-5432/one"):
        assert f">{place}</a>" in overview


def test_every_link_leads_to_a_file(site: Site, filled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    site(folder)
    pages = sorted(folder.rglob("*.html"))
    assert len(pages) == 12
    reached = set()
    for page in pages:
        text = page.read_text()
        links = [html.unescape(to) for to in (*HREF.findall(text), *SRC.findall(text))]
        for to in links:
            assert not re.match(r"[a-z]+:|/", to), to  # no external and no absolute links
            target, _, anchor = to.partition("#")
            if target:
                path = page.parent / unquote(target)
                assert path.is_file(), (page, to)
                reached.add(path.resolve())
            if anchor:
                assert re.search(rf'id="?{anchor}[" >]', text)
    assert {str(path.relative_to(folder.resolve())) for path in reached} == set(files(folder))


def test_only_what_is_new_is_written(site: Site, filled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    site(folder)
    before = files(folder)
    result = site(folder)
    assert "5 databases, 5 unchanged; 0 files written" in result.stderr
    assert files(folder) == before
    write(filled / "mdw-5432" / "marketing", "marketing", 7)
    result = site(folder)
    assert "5 databases, 4 unchanged; 5 files written" in result.stderr
    changed = {name for name, at in files(folder).items() if before[name] != at}
    base = "clusters/mdw-5432/marketing"
    assert changed == {
        "index.html",
        *(f"{base}/{name}" for name in ("history.html", "history.js", "index.html", "tables.js")),
    }


def test_what_depends_on_the_policy_and_the_period(site: Site, home: Path, tmp_path: Path) -> None:
    series(home, "mdw-5432", "sales", 4)
    policy = tmp_path / "policy.toml"
    policy.write_text('[[table]]\nmatch = "sales.orders"\nkeep = "90d"\n')
    folder = tmp_path / "site"
    assert site(folder, "--policy", str(policy)).exit_code == 0
    assert "1 unchanged" in site(folder, "--policy", str(policy)).stderr
    policy.write_text('[[table]]\nmatch = "sales.orders"\nkeep = "91d"\n')
    assert "0 unchanged" in site(folder, "--policy", str(policy)).stderr
    assert "0 unchanged" in site(folder, "--policy", str(policy), "--days", "2").stderr
    policy.write_text("[nonsense")
    wrong = site(folder, "--policy", str(policy))
    assert isinstance(wrong.exception, CatalogError)
    assert "policy.toml" in wrong.exception.message


def test_a_page_that_was_deleted_is_written_again(site: Site, home: Path, tmp_path: Path) -> None:
    series(home, "mdw-5432", "sales", 2)
    folder = tmp_path / "site"
    site(folder)
    page = folder / "clusters/mdw-5432/sales/history.html"
    page.unlink()
    assert "1 file written" in site(folder).stderr
    assert page.is_file()


def test_removed_databases_leave_no_pages(site: Site, filled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    site(folder)
    (folder / "clusters/mdw-5432/marketing/notes.txt").write_text("somebody's")
    shutil.rmtree(filled / "crm-5432")
    shutil.rmtree(filled / "mdw-5432/marketing")
    result = site(folder)
    assert result.exit_code == 0
    assert "2 databases, 2 unchanged; 2 files written, 11 removed" in result.stderr
    assert not (folder / "clusters/crm-5432").exists()
    assert [p.name for p in (folder / "clusters/mdw-5432/marketing").iterdir()] == ["notes.txt"]


def test_the_fleet_file_chooses(site: Site, filled: Path, tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.toml"
    fleet.write_text(
        '[cluster.dwh]\nconninfo = "host=mdw port=5432"\ndatabases = ["sales", "absent"]\n'
        '[cluster."index.html"]\nconninfo = "host=crm port=5432"\ndatabases = ["one"]\n'
        '[cluster.new]\nconninfo = "host=new port=5432"\n'
    )
    folder = tmp_path / "site"
    result = site(folder, "--config", str(fleet))
    assert result.exit_code == Exit.USAGE
    assert "dwh/absent: there is no stored snapshot" in result.stderr
    overview = (folder / "index.html").read_text()
    assert "2 databases of 3 clusters" in overview
    assert "there is no stored snapshot of new:5432" in overview
    assert (folder / "clusters/index.html/one/index.html").is_file()
    assert not (folder / "clusters/mdw-5432").exists()


# --- refusals -------------------------------------------------------------------------------------


def test_other_folders_are_refused(site: Site, home: Path, tmp_path: Path) -> None:
    series(home, "mdw-5432", "sales", 1)
    folder = tmp_path / "web"
    folder.mkdir()
    (folder / "index.html").write_text("mine")
    refused = site(folder)
    assert isinstance(refused.exception, CatalogError)
    assert refused.exception.exit_code is Exit.REFUSED
    assert [p.name for p in folder.iterdir()] == ["index.html"]
    assert (folder / "index.html").read_text() == "mine"


def test_without_snapshots(site: Site, tmp_path: Path) -> None:
    found = site(tmp_path / "site")
    assert isinstance(found.exception, CatalogError)
    assert "no stored snapshot" in found.exception.message
    assert not (tmp_path / "site").exists()


def test_two_runs_at_once(site: Site, home: Path, tmp_path: Path) -> None:
    series(home, "mdw-5432", "sales", 1)
    folder = tmp_path / "site"
    with exclusive(folder / state.LOCK):
        found = site(folder)
    assert isinstance(found.exception, CatalogError)
    assert found.exception.exit_code is Exit.REFUSED
    assert site(folder).exit_code == 0


@pytest.mark.parametrize("content", ["", "{", '{"databases": 5}', '{"version": "0", "files": []}'])
def test_a_damaged_state(site: Site, home: Path, tmp_path: Path, content: str) -> None:
    series(home, "mdw-5432", "sales", 2)
    folder = tmp_path / "site"
    site(folder)
    before = files(folder)
    (folder / state.FILE).write_text(content)
    result = site(folder)
    assert result.exit_code == 0
    assert "0 unchanged; 0 files written, 0 removed" in result.stderr  # the same content
    assert files(folder) == before


def test_a_state_names_only_files_of_the_site(site: Site, home: Path, tmp_path: Path) -> None:
    """A user who can write to the folder cannot make the program delete other files."""
    series(home, "mdw-5432", "sales", 2)
    folder = tmp_path / "site"
    site(folder)
    victim = tmp_path / "victim"
    victim.write_text("important")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("important")
    (folder / "out").symlink_to(elsewhere)
    (folder / "link").symlink_to(victim)
    known = json.loads((folder / state.FILE).read_text())
    known["files"] += ["../victim", str(victim), "out/file", "link", "", ".", "clusters"]
    (folder / state.FILE).write_text(json.dumps(known))
    assert site(folder).exit_code == 0
    assert victim.read_text() == (elsewhere / "file").read_text() == "important"
    assert (folder / "clusters").is_dir()


@pytest.mark.parametrize("name", ["clusters", "clusters/mdw-5432/sales", state.LOCK])
def test_a_link_out_of_the_site_is_refused(
    site: Site, home: Path, tmp_path: Path, name: str
) -> None:
    """Neither a folder nor the lock may be a link to other files."""
    series(home, "mdw-5432", "sales", 2)
    folder = tmp_path / "site"
    site(folder)
    victim = tmp_path / "victim"
    if name == state.LOCK:
        victim.write_text("important")
        (folder / name).unlink()
    else:
        victim.mkdir()
        shutil.rmtree(folder / name)
    (folder / name).symlink_to(victim)
    result = site(folder)
    assert result.exit_code != 0
    if name == state.LOCK:
        assert victim.read_text() == "important"
    else:
        assert not list(victim.iterdir())


def test_a_link_in_place_of_a_page_is_replaced(site: Site, home: Path, tmp_path: Path) -> None:
    series(home, "mdw-5432", "sales", 2)
    folder = tmp_path / "site"
    site(folder)
    victim = tmp_path / "victim"
    victim.write_text("important")
    page = folder / "index.html"
    page.unlink()
    page.symlink_to(victim)
    assert site(folder).exit_code == 0
    assert victim.read_text() == "important"
    assert not page.is_symlink()


def test_a_run_that_fails_can_be_continued(
    site: Site, filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site"
    real = os.replace

    def full(source: Any, to: Any) -> None:
        if str(to).endswith("search.html"):
            raise OSError(28, "No space left on device")
        real(source, to)

    monkeypatch.setattr(os, "replace", full)
    failed = site(folder)
    assert isinstance(failed.exception, CatalogError)
    assert "No space left" in failed.exception.message
    assert not list(folder.rglob("*.partial"))
    monkeypatch.undo()
    monkeypatch.setenv("GPCATALOG_HOME", str(filled))
    assert "5 databases, 5 unchanged; 2 files written, 0 removed" in site(folder).stderr


def test_a_killed_first_run_can_be_repeated(
    site: Site, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is a site as soon as it has its first page, even if nothing could be cleaned up."""
    series(home, "mdw-5432", "sales", 2)
    folder = tmp_path / "site"

    def killed(*_: Any, **__: Any) -> None:
        left = tmp_path / "left"
        shutil.copytree(folder, left)
        (left / "index.html.1.partial").write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr("gpcatalog.emit.site_search.page", killed)
    site(folder)
    monkeypatch.undo()
    monkeypatch.setenv("GPCATALOG_HOME", str(home))
    assert "1 database, 0 unchanged" in site(tmp_path / "left").stderr


# --- the data -------------------------------------------------------------------------------------


def test_the_history_has_the_tables_of_every_snapshot(
    site: Site, home: Path, tmp_path: Path
) -> None:
    """The valid figures at each snapshot equal those in its file."""
    place = series(home, "mdw-5432", "sales", 12, more=7)
    folder = tmp_path / "site"
    site(folder)
    found = data(folder / "clusters/mdw-5432/sales/history.js")
    paths = sorted(place.glob("*.gpcatalog"))
    assert len(found["times"]) == len(paths) == 12

    def in_force(steps: list[list[int]], at: int) -> list[int]:
        return [step for step in steps if step[0] <= at][-1:][0][1:] if steps[0][0] <= at else []

    for at, path in enumerate(paths):
        with Snapshot(path) as snapshot:
            tables = {
                f"{r['schema']}.{r['name']}": [
                    r["leaves"], r["class_rows"] + r["attribute_rows"], r["files"], r["bytes"],
                ]
                for r in snapshot.rows("SELECT * FROM root_total")
            }  # fmt: skip
            catalogs = {
                (r["relation"], r["content"]): [r["rows"], r["bytes"]]
                for r in snapshot.rows(
                    'SELECT relation, content, "rows", heap_bytes + toast_bytes + index_bytes AS bytes FROM catalog'
                )
            }
        of_tables = {name: in_force(steps, at) for _, name, steps in found["tables"]}
        assert {name: figures for name, figures in of_tables.items() if figures} == tables
        of_catalogs = {(r, c): in_force(steps, at) for r, c, steps in found["catalogs"]}
        assert of_catalogs == catalogs


def test_hostile_names_stay_text(site: Site, filled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    site(folder)
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in (state.LOCK,):
            text = path.read_text()
            assert "<script>alert" not in text
            assert "\u202e" not in text
    (names,) = [
        [table[0] for table in found["tables"]]
        for found in (data(p) for p in folder.rglob("tables.js"))
        if "<x>" in found["place"]
    ]
    assert "we;ird`</.<script>alert(1)</script>\\u202e\"'&`x`" in names


def test_more_tables_than_fit_are_counted(
    site: Site, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpcatalog.emit.site_data.TABLES_KEPT", 3)
    series(home, "mdw-5432", "sales", 2)
    folder = tmp_path / "site"
    site(folder)
    for name in ("tables.js", "history.js"):
        found = data(folder / "clusters/mdw-5432/sales" / name)
        assert len(found["tables"]) == 3
        assert found["left_out"] == 4


def test_a_series_of_a_recreated_database(site: Site, home: Path, tmp_path: Path) -> None:
    """Snapshots of the previous database are left out, and the page reports it."""
    place = series(home, "mdw-5432", "sales", 2)
    old = made.SnapshotSpec(made.START, [], database_oid=77)
    made.write(place / "20250101T000000Z.gpcatalog", old)
    folder = tmp_path / "site"
    assert site(folder).exit_code == 0
    page = (folder / "clusters/mdw-5432/sales/history.html").read_text()
    assert "Snapshots left out" in page
    assert "it was recreated" in page
