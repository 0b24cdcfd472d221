"""Is what is drawn for one entry never drawn for another, and is a statement for many rows the one for each?"""

import os

from assent.core.ids import randomness
from assent.stores.migrations import for_rows


def test_no_two_draws_are_the_same_however_many() -> None:
    drawn = [randomness(16) for _ in range(2000)]
    assert {len(one) for one in drawn} == {16}
    assert len(set(drawn)) == len(drawn)
    assert len(randomness(10_000)) == 10_000
    assert randomness(0) == b""


def test_a_forked_process_draws_what_its_parent_does_not() -> None:
    randomness(16)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, randomness(16))
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    theirs = os.read(reading, 16)
    os.close(reading)
    assert theirs != randomness(16)


def test_a_statement_for_many_rows_repeats_the_values_alone() -> None:
    one = "WITH a (x, y) AS (\n  VALUES (?, ?)\n)\nUPDATE t SET x = a.x FROM a WHERE t.y = a.y"
    assert for_rows(one, 1) == one
    assert for_rows(one, 3) == one.replace("(?, ?)", "(?, ?), (?, ?), (?, ?)")
