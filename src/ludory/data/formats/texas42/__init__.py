"""Files of Texas 42: names, splits, schemas, and the runner that fills their gaps."""
