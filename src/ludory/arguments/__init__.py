"""Command lines as dataclasses: the fields are the options, their docstrings the help (by tyro); every mistake is one line.

A command line is first cut into the words of each option (`scan`). Unknown options, missing ones, wrong numbers and wrong choices are
refused there, with what was got, what is allowed and the nearest name. Values of a file (`--config`) are added, and tyro makes the dataclass.
"""

from .command_line import (
    Arguments,
    Described,
    answer,
    describe,
    is_describing,
    read_arguments,
    scan,
)
from .config_words import print_config
from .help_page import show_help
from .options import Option, number, options_of, whole_number
from .urls import UrlUse, as_typed, located_out, urls_located_by

__all__ = [
    "Arguments",
    "Described",
    "Option",
    "UrlUse",
    "answer",
    "as_typed",
    "describe",
    "is_describing",
    "located_out",
    "number",
    "options_of",
    "print_config",
    "read_arguments",
    "scan",
    "show_help",
    "urls_located_by",
    "whole_number",
]
