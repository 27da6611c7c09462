"""The picture of the README shows the variants that the package makes."""

import runpy
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "scripts/draw_overview.py"


def test_the_picture_is_up_to_date() -> None:
    drawn = runpy.run_path(str(SCRIPT))
    assert drawn["PICTURE"].read_text(encoding="utf-8") == drawn["picture"](), f"python {SCRIPT} writes it again"
