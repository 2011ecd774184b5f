"""Charts of reports and benchmarks: drawings as SVG or images, axes, curves, bars and heat maps in one palette."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludory.lazy import published_by

if TYPE_CHECKING:
    from .axes import Axis, frame, linear_axis
    from .bars import LABEL, Bar, Cell, Panel, bar_chart, heat_map
    from .curves import Plot, Point, Series, curve_plot, interval_plot, legend_entry, line_chart
    from .drawing import (
        FAINT,
        FILLS,
        GROUND,
        INK,
        STYLES,
        Dot,
        Drawing,
        Mark,
        Path,
        Rectangle,
        Words,
        as_image,
        as_svg,
        line,
        page_style,
        quoted,
        shifted,
    )

__all__ = [
    "FAINT",
    "FILLS",
    "GROUND",
    "INK",
    "LABEL",
    "STYLES",
    "Axis",
    "Bar",
    "Cell",
    "Dot",
    "Drawing",
    "Mark",
    "Panel",
    "Path",
    "Plot",
    "Point",
    "Rectangle",
    "Series",
    "Words",
    "as_image",
    "as_svg",
    "bar_chart",
    "curve_plot",
    "frame",
    "heat_map",
    "interval_plot",
    "legend_entry",
    "line",
    "line_chart",
    "linear_axis",
    "page_style",
    "quoted",
    "shifted",
]

__getattr__, __dir__ = published_by(__name__)
