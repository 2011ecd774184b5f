"""Command lines as dataclasses: the fields are the options, their docstrings the help; every mistake is one line.

A command line is first cut into the words of each option (`scan`), and what a file of `--config` says is added. Unknown options, missing
ones, wrong numbers and wrong choices are refused, with what was got, what is allowed and the nearest name.
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
from .help_page import field_docs, help_page
from .options import Arg, Hidden, Option, Positional, Repeated, number, options_of, whole_number
from .urls import UrlUse, as_typed, located_out, urls_located_by

__all__ = [
    "Arg",
    "Arguments",
    "Described",
    "Hidden",
    "Option",
    "Positional",
    "Repeated",
    "UrlUse",
    "answer",
    "as_typed",
    "describe",
    "field_docs",
    "help_page",
    "is_describing",
    "located_out",
    "number",
    "options_of",
    "print_config",
    "read_arguments",
    "scan",
    "urls_located_by",
    "whole_number",
]
