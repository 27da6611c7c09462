"""Make the task files of this package visible to the harness, which searches its own folder and `--include_path`.

For plain `lm_eval --tasks cora_medqa` the wheel installs two small files beside the package: `lm_eval_cora_startup.pth`
has one line that Python executes at every start, and the start-up module imports only `sys`. When a program imports the
harness, `location` adds our folder to those that the harness searches.
"""
