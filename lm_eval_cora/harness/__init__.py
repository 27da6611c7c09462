"""The one room that knows lm_eval: loading, docs, the task class, scoring and what a run says about itself."""
