"""What is told, in one line, where the Delta log of OUT cannot be read or added to."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from deltalake.exceptions import DeltaError

from segmend.errors import SegmendError
from segmend.fleet.commits import torn_commit
from segmend.fleet.folder import one_line

_NUMBERED: Final = re.compile(r"\(os error (\d+)\)")


@contextmanager
def delta_in_words(path: str) -> Iterator[None]:
    """What the library of tables raises for the table in `path` becomes a `SegmendError`.

    What the system refused to it becomes the `OSError` that it was: the number is in its words alone.
    """
    try:
        yield
    except UnicodeEncodeError:
        raise SegmendError(
            f"{path}: no table of Delta can lie under a name that is no UTF-8; give another --out"
        ) from None
    except OSError as error:
        number = _NUMBERED.search(str(error)) if error.errno is None else None
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), path) from None
    except DeltaError as error:
        torn = torn_commit(path)
        if torn is not None:
            # What it added, and that it added it, are both in there alone: the next run finds neither.
            raise SegmendError(
                f"{torn[0]}: the last commit of the table is torn; move this file to another place, and the "
                "same command adds again what it had, as far as the DIRs still have that"
            ) from None
        raise SegmendError(
            f"{path}/_delta_log: cannot be read or added to ({one_line(error)}); give the same command "
            "again, and another --out if that ends like this, too"
        ) from None
