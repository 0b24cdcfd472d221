"""Does a part of the long form hold what was asked for?"""

import pytest

from support.suite.soak import part


@pytest.mark.parametrize(
    ("arguments", "wanted"), [(["tests"], 1), (["--part", "20"], 20), (["--part=5", "-q"], 5), (["--part", "0"], 1)]
)
def test_a_part_is_read_however_it_is_written(arguments: list[str], wanted: int) -> None:
    assert part(arguments) == wanted
