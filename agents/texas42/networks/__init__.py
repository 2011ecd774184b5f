"""Networks of Texas 42: values with open hands, and from what a seat has seen."""
