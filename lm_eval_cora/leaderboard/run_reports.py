"""A report page per run of a leaderboard, all published together at the end."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from types import TracebackType

from lm_eval_cora.report.figures import free_name
from lm_eval_cora.report.page import render
from lm_eval_cora.report.run import Run
from lm_eval_cora.report.sections import make_report


class RunReports:
    """Writes the page of each run beside the folder of the pages, and moves all of them into it if nothing failed.

    Example:
        >>> with RunReports(Path("no/such/folder")) as reports:  # nothing is written for no run
        ...     Path("no").exists()
        False
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: Path | None = None
        self._names: set[str] = set()

    def __enter__(self) -> RunReports:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._written is None:
            return
        try:
            if error is None:
                self._folder.mkdir(parents=True, exist_ok=True)
                for page in self._written.iterdir():
                    page.replace(self._folder / page.name)
        finally:
            rmtree(self._written, ignore_errors=True)

    def write(self, run: Run) -> Path:
        """Write the page of a run; return the path that it will have."""
        if self._written is None:
            parent = next(parent for parent in self._folder.absolute().parents if parent.is_dir())
            self._written = Path(mkdtemp(prefix=".lm-eval-cora-", suffix=".partial", dir=parent))
        title = f"{run.model}, {run.task}"
        name = f"{free_name(title, self._names)}.html"
        text = render(make_report([run], title))
        (self._written / name).write_text(text, encoding="utf-8", errors="backslashreplace")
        return self._folder / name
