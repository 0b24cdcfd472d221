"""What of the findings can be put right in the files themselves?"""

from assent.lint.mending.mend import Mended, mend
from assent.lint.mending.writing import write_all

__all__ = ["Mended", "mend", "write_all"]
