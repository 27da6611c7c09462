"""How the harness finds the task files of this package.

It does not import the harness, and at the start of Python it imports the standard library only.

The harness searches its own folder and `--include_path`, nothing else. To make plain `lm_eval --tasks cora_medqa` work,
the wheel installs two small files beside the package: `lm_eval_cora_startup.pth`, a line that Python executes whenever
it starts, and the module that this line imports. When the harness is imported, `finder` adds the folder of `location`
to those that it searches.
"""
