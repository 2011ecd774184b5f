"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ludory.errors import OutputError


@contextmanager
def atomic_file(file: str | Path, mode: str = "wb") -> Iterator[IO]:  # type: ignore[type-arg]
    """Open a temporary file beside `file` and move it into place when the block ends without an error.

    Missing folders are made.

    Raises:
        OutputError: the folder can not be made or written to.
    """
    target = Path(file)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle = tempfile.NamedTemporaryFile(  # noqa: SIM115
            mode, dir=target.parent, prefix=f".{target.name}.", delete=False, encoding=None if "b" in mode else "utf-8"
        )
    except OSError as error:
        raise OutputError(f"can not write {target}: {error.strerror}; name a folder that you may write to") from error
    try:
        with handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.chmod(handle.name, 0o666 & ~_umask())
        os.replace(handle.name, target)
    except BaseException:
        Path(handle.name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
