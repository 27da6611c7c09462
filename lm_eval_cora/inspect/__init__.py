"""The front end for Inspect: `inspect eval lm_eval_cora/cora -T benchmark=medqa --model ...`."""
