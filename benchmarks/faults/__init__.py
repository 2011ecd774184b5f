"""Faults: killed jobs, damaged files, full disks; `campaign.py` runs them."""
