"""What commands share: dispatch, parsing, options, files, what is shown, errors as one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludory.lazy import published_by

if TYPE_CHECKING:
    from .files import check_ending, check_new, file_with_suffix, write_drawing, write_text
    from .guard import say
    from .listening import address_of, listen, serve_until_stopped
    from .options import (
        Assignments,
        Count,
        EnvId,
        File,
        FileArgument,
        Flag,
        Folder,
        FolderArgument,
        GameOptions,
        Maybe,
        Paths,
        Placed,
        common_fields,
        learner_options,
        parse_options,
    )
    from .parser import parse, parse_with_learner, run_job
    from .showing import games_bar, show_table

__all__ = [
    "Assignments",
    "Count",
    "EnvId",
    "File",
    "FileArgument",
    "Flag",
    "Folder",
    "FolderArgument",
    "GameOptions",
    "Maybe",
    "Paths",
    "Placed",
    "address_of",
    "check_ending",
    "check_new",
    "common_fields",
    "file_with_suffix",
    "games_bar",
    "learner_options",
    "listen",
    "parse",
    "parse_options",
    "parse_with_learner",
    "run_job",
    "say",
    "serve_until_stopped",
    "show_table",
    "write_drawing",
    "write_text",
]

__getattr__, __dir__ = published_by(__name__)
