"""Behaviour cloning: a policy that imitates recorded decisions, trained on Lightning."""

from typing import TYPE_CHECKING

from ludory.lazy import published_by

if TYPE_CHECKING:
    from .bc import BC as BC
    from .config import BCConfig as BCConfig

__all__ = ["BC", "BCConfig"]
__getattr__, __dir__ = published_by(__name__, extras=("lightning",))
