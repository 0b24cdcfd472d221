"""What must happen before the store tests are imported? Asserts of the public suite say what differed."""

import pytest

pytest.register_assert_rewrite("assent.testing.stores")
