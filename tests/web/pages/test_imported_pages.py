"""Pages about imported results, with items and without."""

from __future__ import annotations

import json
from pathlib import Path

from starlette.testclient import TestClient

from wug.exchange.importing import import_files
from wug.web.site import Site


def test_pages_of_imported_results_say_so_and_place_the_model(site: Site, client: TestClient, tmp_path: Path) -> None:
    values = {
        "blimp_adjunct_island": {"acc": 0.872, "acc_stderr": (0.872 * 0.128 / 999) ** 0.5},
        "arc_easy": {"acc": 0.5, "acc_stderr": (0.25 / 999) ** 0.5},
    }
    path = tmp_path / "pythia-160m-0shot-global_step71500_eval_results_x.json"
    path.write_text(json.dumps({"results": values, "config": {"model_args": {"iteration": 71500}}}))
    table = tmp_path / "table.csv"
    table.write_text("model,suite,item,correct\ngrnn__0,npi_src_any,0,True\ngrnn__0,npi_src_any,1,False\n")
    import_files([path, table], site.store)
    pages = {}
    imported = {summary.suite.partition("/")[0]: summary.id for summary in site.store.reader.overview()}
    assert imported.keys() == {"arc_easy", "blimp", "npi_src_any"}
    for suite, number in imported.items():
        page = client.get(f"/result/{number}")
        assert page.status_code == 200, page.text[:2000]
        assert suite in page.text
        assert "Imported from a file in the format" in page.text
        pages[suite] = page.text
        items = client.get(f"{page.url.path}/items").text
        assert ("estimates, but no items" in items) == (suite != "npi_src_any")
    assert "Among published models" in pages["blimp"]
    assert "Among published models" in pages["npi_src_any"]
    assert "Among published models" not in pages["arc_easy"]
    assert client.get("/").status_code == 200
