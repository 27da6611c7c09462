"""Start-up module. It slows down every start of Python, so it imports only `sys`; `location` does the work."""

import sys


def find_spec(name, path=None, target=None):  # type: ignore[no-untyped-def]  # no `typing` import
    """Pass imports of the harness to `location`. Leave all other imports to the other finders of `sys.meta_path`."""
    if name == "lm_eval.tasks.manager":
        try:
            from lm_eval_cora.discovery import location
        except Exception:  # the package has been removed or damaged
            return None
        return location.find_spec(name, path, target)
    return None


sys.meta_path.insert(0, sys.modules[__name__])  # a module with `find_spec` is a finder
