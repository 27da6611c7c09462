"""`python -m lm_eval_cora` is `lm-eval-cora`."""

import sys

from lm_eval_cora.cli import main

sys.exit(main())
