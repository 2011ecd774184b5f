"""Classic games: tic-tac-toe and Connect Four, Go on small boards, Kuhn and Leduc poker. Two seats, zero sum."""

from .connect_four import make_game as make_connect_four
from .go import make_game as make_go
from .kuhn_poker import make_game as make_kuhn_poker
from .leduc_poker import make_game as make_leduc_poker
from .tic_tac_toe import make_game as make_tic_tac_toe

__all__ = ["make_connect_four", "make_go", "make_kuhn_poker", "make_leduc_poker", "make_tic_tac_toe"]
