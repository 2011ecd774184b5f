"""`ludory spa`: world-model fine-tuning from the command line."""
