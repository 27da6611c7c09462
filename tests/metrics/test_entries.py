"""What the entries of a task file say about early stopping."""

from lm_eval_cora import metrics
from lm_eval_cora.metrics.entries import saves_requests


def test_only_cora_and_what_it_is_made_of_are_worth_stopping_for():
    def entries(names):
        return [
            {"aggregation": getattr(metrics, name)} | ({"level": float(level)} if level else {})
            for name, _, level in (text.partition("@") for text in names.split())
        ]

    for names in ("acc bmca@1.0 mv", "acc_h mcqa ci", "cora"):
        assert saves_requests(entries(names))
    for names in ("acc consistency_rate invalid", "mcqa mv bmca@0.9 mcqa_plus", "mcqa acc_h"):
        assert not saves_requests(entries(names))
    assert not saves_requests([{"aggregation": metrics.cora, "without": "original"}])
