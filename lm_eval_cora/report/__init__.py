"""Views: what is shown of runs, as data: scores, differences, blocks of a probe, headlines, boards, histories."""
