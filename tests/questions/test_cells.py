import contextlib
import io
import json
import math

import numpy
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.questions.cells import option_text, parse_cell, parse_literal, read_options
from lm_eval_cora.questions.question import UnusableQuestion

TEXTS = ["None", "N/A", "1", "Ice, or fog"]
LABELS = ["A", "B", "C", "D"]
PAIRS = dict(zip(LABELS, TEXTS, strict=True))


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        *((cell, None) for cell in (TEXTS, tuple(TEXTS), {"text": TEXTS}, [{"text": text} for text in TEXTS])),
        *((cell, LABELS) for cell in (PAIRS, {**PAIRS, "E": None}, {"label": LABELS, "text": TEXTS})),
        ([{"key": key, "value": text} for key, text in PAIRS.items()], LABELS),
    ],
)
@pytest.mark.parametrize("write", [lambda cell: cell, json.dumps, repr])
def test_shapes_of_options(cell, labels, write):
    texts, found = read_options(write(cell))
    assert (list(texts), found) == (TEXTS, labels)


def test_missing_options_and_a_separator():
    # In a mapping, only the last options may be missing.
    assert read_options({"A": "Ice", "B": "Fog", "C": None, "D": None}) == (["Ice", "Fog"], ["A", "B"])
    assert read_options({"A": None, "B": "Ice", "C": "Fog"})[0] == [None, "Ice", "Fog"]
    assert read_options("Ice | Fog|Dew ", "|") == (["Ice", "Fog", "Dew"], None)
    assert read_options(["Ice", "Fog"], "|") == (["Ice", "Fog"], None)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        *((cell, r"options that are not a list: .*separator.*; got ") for cell in (None, "Ice, Fog", 3, "3", "", True)),
        *(
            (cell, "options in an unknown format|not as many labels as options|options that are not a list")
            for cell in (
                *({"text": ["Ice", "Fog"], "label": ["A"]}, {"text": "Ice; Fog", "label": "A; B"}),
                *('{"A": "Ice", "A": "Hot", "B": "Fog"}', {"text": ["Ice", "Fog"], "label": "AB"}),
                *({"A": ["Ice"], "B": ["Fog"]}, [{"key": "A"}], [{"key": "A", "value": "Ice"}, {"key": "B"}]),
                [{"text": "Ice", "label": "A"}, {"text": "Fog"}],
            )
        ),
    ],
)
def test_what_is_not_a_list_with_an_option_for_each_label(cell, message):
    with pytest.raises(UnusableQuestion, match=message):
        read_options(cell)


@pytest.mark.parametrize("option", [None, "", " \n", ["Ice"], True, {"a": "Ice"}, float("nan"), float("inf"), 10**400])
def test_options_are_texts_and_numbers(option):
    assert [option_text(option) for option in ("nan", "null", 3, 2.5, -0.0)] == ["nan", "null", "3", "2.5", "-0.0"]
    with pytest.raises(UnusableQuestion, match=r"an empty option|an option that is not text"):
        option_text(option)


@pytest.mark.parametrize("cell", ["Ice", "[Ice]", "[" * 100_000, "[" + "1" * 5_000 + "]", 5, None, ["Ice"]])
def test_a_cell_that_is_no_list_is_unchanged(cell):
    assert parse_cell(cell) is cell


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("['Ice', 'Fog']", ["Ice", "Fog"]),
        ("('Ice',)", ("Ice",)),
        ("{'A': 'Ice', 'B' : 'Fog'}", {"A": "Ice", "B": "Fog"}),
        ("[{'label': 'A', 'text': 'Ice'}, {'text': \"it's\"}]", [{"label": "A", "text": "Ice"}, {"text": "it's"}]),
        *(("[]", []), ("()", ()), ("{}", {})),
        (" \n['Ice', \t'Fog',]\r\n", ["Ice", "Fog"]),
        ("[u'Ice', u'\\u05e9']", ["Ice", "ש"]),
        ("['# no comment', '...', 'array([1])', '']", ["# no comment", "...", "array([1])", ""]),
        ("[True, False, None, nan, NaT, 1, -2.5, 1e3, -inf]", [True, False, None, None, None, 1, -2.5, 1e3, -math.inf]),
        # numpy's str(), without commas
        ("['Ice' 'Fog'\n 'Dew']", ["Ice", "Fog", "Dew"]),
        ("['' '' \"it's\"]", ["", "", "it's"]),
        ("[ 3 -4 -inf nan]", [3, -4, -math.inf, None]),
        ("[3.  4.5 nan]", [3.0, 4.5, None]),
        ("[[1 2]\n [3 4]]", [[1, 2], [3, 4]]),
        ("[True False None]", [True, False, None]),
        ("[{'A': 'Ice'} {'A': 'Fog'}]", [{"A": "Ice"}, {"A": "Fog"}]),
        ("[list(['Ice', 'Fog']) list(['Dew'])]", [["Ice", "Fog"], ["Dew"]]),
        # numpy's repr()
        ("{'text': array(['Ice', 'Fog'], dtype=object), 'label': array(['A', 'B'], dtype=object)}",
         {"text": ["Ice", "Fog"], "label": ["A", "B"]}),
        ("[array(['Ice'], dtype='<U3') array(['Fog'], dtype='<U3')]", [["Ice"], ["Fog"]]),
        ("[array([], shape=(0, 2), dtype=float64)]", [[]]),
        ("[np.str_('Ice'), np.int64(3), np.float64(nan), np.True_]", ["Ice", 3, None, True]),
    ],
)  # fmt: skip
def test_what_python_and_numpy_print(text, expected):
    parsed = parse_literal(text)
    assert repr(parsed) == repr(expected)  # 1, 1.0 and True are equal


@pytest.mark.parametrize(
    "text",
    [
        *("", "  ", "Ice", "'Ice'", "3", "[", "]", "['Ice'", "['Ice]", "['Ice')", "[Ice, Fog]", "(a) Ice"),
        *("(1) Ice (2) Fog", "('Ice')", "(3)", "array([1])", "[1], [2]", "[1]\n[2]", "[1]; [2]", "[1] # one"),
        *("{'Ice', 'Fog'}", "{**{}}", "[*[]]", "{'A': 1, 'A': 2}", "{[1]: 2}"),
        # adjacent texts that numpy does not print in this way
        *("['Ice', 'Fog' 'Dew']", "['Ice' 'Fog', 'Dew']", "['Ice' 'Fog',]", "['Ice''Fog']", "('Ice' 'Fog')"),
        *("('Ice' 'Fog',)", "{'A': 'Ice' 'Fog'}", "{'A' 'B': 'Ice'}", "{'A': 'Ice' 'B': 'Fog'}"),
        "[array(['Ice'] dtype=object)]",
        # calculations, names, calls
        *("[1 - 2]", "[1-2]", "[- 1]", "[--1]", "[-True]", "[1+2j]", "[2j]", "[1][0]", "[x for x in (1, 2)]"),
        *("[lambda: 0]", "[print('Ice')]", "[__import__('os').system('false')]", "[array.__class__]", "[array]"),
        *("[array(['Ice']).tolist()]", "[array(['Ice'], order='C')]", "[array(['Ice'], 'Fog')]", "[np]", "[np.array]"),
        *("[nan(1)]", "[object()]", "['Ice'('Fog')]"),
        # shortened by numpy
        *("[0 1 ... 998 999]", "['Ice' ...\n 'Fog']", "[array([0, ..., 9])]"),
        # other texts
        *("[b'Ice']", "[r'Ice']", "[f'{1}']", "['''Ice''']", '["""Ice"""]', "['\\sin x']", "['\\frac12']", "['\\xzz']"),
        *("['\\N{SNOWFLAKE}']", "['Ice\\\n']", "['Ice\nFog']", "['Ice\0']", "[\0]", "[$]", "['\ud800']", "[007]"),
    ],
    ids=lambda text: repr(text)[:40],
)
def test_what_is_something_else(text):
    with pytest.raises(ValueError):  # noqa: PT011  # no user sees it
        parse_literal(text)


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
nested = st.recursive(
    scalars,
    lambda items: st.lists(items) | st.lists(items).map(tuple) | st.dictionaries(st.text() | st.integers(), items),
    max_leaves=8,
)


@given(st.lists(nested) | st.lists(nested).map(tuple) | st.dictionaries(st.text(), nested))
def test_what_python_prints_is_read_back(value):
    assert parse_literal(repr(value)) == value


@given(st.lists(st.text() | st.integers(-(2**31), 2**31) | st.floats(allow_nan=False, width=32)))
def test_what_numpy_prints_is_read_back(items):
    array = numpy.array([*items, None], dtype=object)[:-1]
    assert parse_literal(str(array)) == items
    assert parse_literal(repr({"text": array})) == {"text": items}
    floats = [numpy.float64(item) for item in items if isinstance(item, float)]
    assert parse_literal(repr(floats)) == floats


@given(st.text(alphabet="[](){}'\"\\,:. -=1npafarystx\n#", max_size=30))
def test_any_other_text_is_a_value_error(text):
    for brackets in ("{}", "[{}]", "[['{}']]"):
        with contextlib.suppress(ValueError):
            assert isinstance(parse_literal(brackets.replace("{}", text)), (list, tuple, dict))


def test_a_csv_file_that_pandas_wrote():
    texts = ["it's", 'a "b"', "line\nbreak", "x" * 100]
    array = numpy.array(texts, dtype=object)
    cells = {"a": [{"text": array, "label": numpy.array(["A", "B"])}], "b": [array]}
    row = pandas.read_csv(io.StringIO(pandas.DataFrame(cells).to_csv())).iloc[0]
    assert [parse_literal(row[name]) for name in "ab"] == [{"text": texts, "label": ["A", "B"]}, texts]


@pytest.mark.parametrize("item", ["'Ice' ", "'" + "x" * 100 + "'\n", "[1] "])
def test_the_time_is_about_proportional_to_the_length(item):
    assert len(parse_literal(f"[{item * 50_000}]")) == 50_000  # an algorithm with quadratic time would take minutes
