"""Whether the harness takes `--metadata key=value`."""

import pytest

from lm_eval_cora.harness.compat import UsageError, harness_arguments


def _are_taken():
    try:
        harness_arguments(["--tasks", "x", "--metadata", "a=1"])
    except UsageError:
        return False
    return True


pairs = pytest.mark.skipif(not _are_taken(), reason="lm-eval 0.4.12 takes JSON only")
