"""Progress bars of work that may take longer than a few seconds."""

from functools import partial
from typing import Any

from tqdm import tqdm

bar: Any = partial(tqdm, disable=None, leave=False, delay=2)
"""A bar on stderr if that is a terminal (`disable=None`), and if the work takes longer than `delay` in seconds."""
