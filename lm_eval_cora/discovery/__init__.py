"""Make the task files of this package visible to the harness.

The harness searches only its own folder and `--include_path`. To make plain `lm_eval --tasks cora_medqa` work, the
wheel installs two small files beside the package: `lm_eval_cora_startup.pth`, which has one line that Python executes
at every start, and the module that this line imports. When a program imports the harness, `finder` adds the folder
from `location` to the folders that the harness searches.

This package does not import the harness. At the start of Python it imports only the standard library.
"""
