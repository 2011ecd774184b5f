"""Faults: jobs that are killed, files that are damaged, disks that are full; `campaign.py` runs them."""
