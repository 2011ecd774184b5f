"""Where the parts of a job run: in this process, in others of this machine, or on the machines of a Ray cluster. Nothing else in Ludory knows of Ray."""

from .placement import PlacedOn
from .workers import Actor, InProcess, Lent, Pending, Workers

__all__ = ["Actor", "InProcess", "Lent", "Pending", "PlacedOn", "Workers"]
