"""Model test of documents against `dict`, `list` and `str`: equal operations give equal results."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hashmill.documents import Document, Text

# Few examples with many steps each: errors here arise between steps.
settings.register_profile("documents", max_examples=60, deadline=None, derandomize=True)
settings.load_profile("documents")

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=5),
    st.binary(max_size=5),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
index = st.integers(-6, 6)
bound = st.none() | index
slices = st.builds(slice, bound, bound, st.none() | st.integers(-3, 3).filter(bool))


def both(one: Any, other: Any, does: Any) -> None:
    """Applies an operation to both, with the same result or the same kind of exception."""
    answers: list[Any] = []
    for it in (one, other):
        try:
            answer = does(it)
        except (LookupError, ValueError, TypeError) as error:
            answer = type(error)
        answers.append(answer)
    assert answers[0] == answers[1]


edits_of_lists = st.one_of(
    st.builds(lambda i, v: lambda it: it.insert(i, v), index, values),
    st.builds(lambda v: lambda it: it.append(v), values),
    st.builds(lambda v: lambda it: it.extend(v), st.lists(values, max_size=3)),
    st.builds(lambda i, v: lambda it: it.__setitem__(i, v), index, values),
    st.builds(lambda i, v: lambda it: it.__setitem__(i, v), slices, st.lists(values, max_size=4)),
    st.builds(lambda i: lambda it: it.__delitem__(i), index | slices),
    st.builds(lambda i: lambda it: it.__getitem__(i), index | slices),
    st.builds(lambda i: lambda it: it.pop(i), index),
    st.builds(lambda v: lambda it: it.remove(v), scalars),
    st.builds(lambda v: lambda it: (v in it, it.count(v), it.index(v)), scalars),
    st.just(lambda it: it.reverse()),
    st.just(lambda it: list(reversed(it))),
)


@given(st.lists(values, max_size=5), st.lists(edits_of_lists, max_size=12))
def test_lists(start: list[Any], edits: list[Any]) -> None:
    doc = Document({"it": start}, actor="aa")
    plain = list(doc["it"].to_python())
    for edit in edits:
        both(doc["it"], plain, edit)
        assert doc["it"] == plain and list(doc["it"]) == plain and len(doc["it"]) == len(plain)
    assert Document.load(doc.save())["it"] == plain


keys = st.sampled_from(["", "a", "b", "é", "\U0001f30d", "z\0"])
edits_of_maps = st.one_of(
    st.builds(lambda k, v: lambda it: it.__setitem__(k, v), keys, values),
    st.builds(lambda k: lambda it: it.__delitem__(k), keys),
    st.builds(lambda k: lambda it: (it.get(k, 5), k in it), keys),
    st.builds(lambda k: lambda it: it.pop(k), keys),
    st.builds(lambda k: lambda it: it.pop(k, None), keys),
    st.builds(lambda k, v: lambda it: it.setdefault(k, v), keys, values),
    st.builds(lambda m: lambda it: it.update(m), st.dictionaries(keys, values, max_size=3)),
    st.builds(lambda m: lambda it: it.update(list(m.items()), x=1), st.dictionaries(keys, values, max_size=3)),
    st.just(lambda it: it.clear()),
)


@given(st.dictionaries(keys, values, max_size=4), st.lists(edits_of_maps, max_size=12))
def test_maps(start: dict[str, Any], edits: list[Any]) -> None:
    doc = Document({"it": start}, actor="aa")
    plain = dict(start)
    for edit in edits:
        both(doc["it"], plain, edit)
        assert doc["it"] == plain and sorted(doc["it"]) == sorted(plain) and dict(doc["it"].items()) == plain
        assert list(doc["it"]) == sorted(plain, key=str.encode)
    assert Document.load(doc.save())["it"] == plain


words = st.text(max_size=4)
edits_of_texts = st.one_of(
    st.builds(lambda i, w: ("insert", i, w), index, words),
    st.builds(lambda i, w: ("set", i, w), st.builds(slice, bound, bound), words),
    st.builds(lambda i: ("set", i, ""), st.builds(slice, bound, bound)),
    st.builds(lambda w: ("assign", None, w), words),
)


@given(st.text(max_size=8), st.lists(edits_of_texts, max_size=12), slices, index)
def test_texts(start: str, edits: list[Any], part: slice, at: int) -> None:
    doc = Document({"it": Text(start)}, actor="aa")
    text, plain = doc["it"], list(start)
    for what, where, word in edits:
        match what:
            case "insert":
                text.insert(where, word)
                gap = max(0, where + len(plain)) if where < 0 else min(where, len(plain))
                plain[gap:gap] = word
            case "set":
                text[where] = word
                start_, stop, _ = where.indices(len(plain))
                plain[start_ : max(start_, stop)] = word
            case _:
                text.assign(word)
                plain = list(word)
        assert str(text) == "".join(plain) and len(text) == len(plain)
    both(text, "".join(plain), lambda it: (it[part], it[at]))
    assert str(Document.load(doc.save())["it"]) == "".join(plain)


@given(values)
def test_values_survive_files(value: Any) -> None:
    doc = Document({"it": value}, actor="aa")
    again = Document.load(doc.save())
    assert doc["it"] == again["it"] == doc.to_python()["it"] == value
