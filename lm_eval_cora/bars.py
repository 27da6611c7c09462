"""Progress bars of work that may take longer than a few seconds."""

from typing import Any


def bar(*arguments: Any, **settings: Any) -> Any:
    """A bar on stderr if that is a terminal (`disable=None`), and if the work takes longer than `delay` in seconds."""
    from tqdm import tqdm  # slow to import

    return tqdm(*arguments, **settings, disable=None, leave=False, delay=2)
