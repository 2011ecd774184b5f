"""Hanabi's rule bots as agents: `hanabi/iggi`, `hanabi/piers`, `hanabi/smartbot`, `hanabi/cheatbot`."""

from __future__ import annotations

import math

from ludory.agents import BotKernels, KernelAgent
from ludory.agents.hanabi.bots.smartbot import choose_smartbot
from ludory.envs import Game
from ludory.envs.hanabi.conventions.notice import notice_smartbot
from ludory.envs.hanabi.rules import legal
from ludory.envs.hanabi.state import MAX_LIVES, MAX_TOKENS
from ludory.envs.hanabi.variants import HanabiOptions
from ludory.errors import OptionError

from .cheatbot import choose_cheatbot
from .simple_rules import choose_iggi, choose_piers


def make_iggi(game: Game) -> KernelAgent:
    """IGGI: plays cards that are certainly playable, hints at playable cards, discards the oldest. Any variant of Hanabi.

    Source: Walton-Rivers et al., arXiv 1704.07069.

    Raises:
        OptionError: the game is not Hanabi.
    """
    return _bot("hanabi/iggi", game, BotKernels(choose_iggi))


def make_piers(game: Game) -> KernelAgent:
    """Piers: IGGI that risks spare lives and hints at useless cards. Any variant of Hanabi.

    Source: Walton-Rivers et al., arXiv 1704.07069.

    Raises:
        OptionError: the game is not Hanabi.
    """
    return _bot("hanabi/piers", game, BotKernels(choose_piers))


def make_smartbot(game: Game) -> KernelAgent:
    """SmartBot: shared conventions, remembered as the public belief about every card. Any variant of Hanabi.

    Source: Quuxplusone/Hanabi, SmartBot.

    Raises:
        OptionError: the game is not Hanabi.
    """
    fields = game.rules.fields
    slots = math.prod(fields["hands"].shape) if "hands" in fields else 0
    return _bot("hanabi/smartbot", game, BotKernels(choose_smartbot, notice_smartbot, slots))


def make_cheatbot(game: Game) -> KernelAgent:
    """CheatBot: sees all hands, also its own, but not the deck; the practical upper bound of the full game.

    Source: Quuxplusone/Hanabi, CheatBot.

    Raises:
        OptionError: the game is not Hanabi's full game.
    """
    bot = _bot("hanabi/cheatbot", game, BotKernels(choose_cheatbot), privileged=True)
    full = HanabiOptions(players=game.facts.players)
    if _sizes(game) != (full.colors, full.ranks, full.hand_size, full.max_information_tokens, full.max_life_tokens):
        colors, ranks, hand, tokens, lives = _sizes(game)
        raise OptionError(
            f"hanabi/cheatbot plays the full game only (5 colors, 5 ranks, hand_size {full.hand_size}, 8 information tokens, 3 lives), "
            f"got {colors} colors, {ranks} ranks, hand_size {hand}, {tokens} information tokens, {lives} lives; "
            f"use Hanabi{game.facts.players}P-v0, or hanabi/iggi or hanabi/piers here"
        )
    return bot


def is_hanabi(game: Game) -> bool:
    """Whether a game has the rules of Hanabi."""
    return game.has_kernel("legal", legal)


def _bot(name: str, game: Game, kernels: BotKernels, privileged: bool = False) -> KernelAgent:
    if not is_hanabi(game):
        raise OptionError(f"{name} plays Hanabi only, got {game.id or game.facts.name}; try Hanabi2P-v0")
    return KernelAgent(name, kernels, privileged)


def _sizes(game: Game) -> tuple[int, ...]:
    """Colours, ranks, hand size, information tokens, lives."""
    fields = game.rules.fields
    colors, cards, setup = fields["fireworks"].shape[0], fields["discards"].shape[0], fields["setup"].fill
    return colors, cards // colors, fields["hands"].shape[1], setup[MAX_TOKENS], setup[MAX_LIVES]
