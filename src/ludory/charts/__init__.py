"""Charts of reports and benchmarks: drawings as SVG or images, axes, curves, bars and heat maps in one palette."""
