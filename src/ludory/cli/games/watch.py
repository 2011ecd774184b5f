"""`ludory watch`: see agents play, or a replay, at this terminal, as a page, as a video or as one SVG picture."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ludory.arguments import Arg, Positional, as_typed
from ludory.cli.common.files import check_ending, write_text
from ludory.cli.common.options import File, Flag, GameOptions, Maybe, Seconds, seat_names
from ludory.cli.common.parser import parse
from ludory.cli.common.showing import games_bar, log_on_stderr, outcome
from ludory.errors import OptionError
from ludory.visible import visible

if TYPE_CHECKING:
    from ludory.data.playthrough import PlayedMove, Playthrough
    from ludory.data.replay import Replay
    from ludory.envs.engine.protocol import Engine
    from ludory.envs.game import Game

    Position = tuple[Engine, PlayedMove | None]
    """An engine, and the move that led to where it stands."""

DELAY = 0.8
LISTED = 20
"""Games of a folder that are listed."""
CLEAR = "\x1b[2J\x1b[H"


def _seat(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isdecimal():
        raise ValueError("must be all or the number of a seat")
    return int(text)


@dataclass(frozen=True, kw_only=True)
class _Options(GameOptions):
    """Watch agents play a game, or a recorded one.

    The games of a folder of `ludory record`, and of files that a viewer shows, such as logs of Pokémon battles, are listed; --row N shows one
    of them.

    Example: ludory watch Hanabi2P-v0 hanabi/iggi --html game.html
    """

    game: Positional[str]
    """Id of a game, or --game ID; a replay file (.json), a folder of recorded games, or a file or folder that a viewer shows (`ludory list viewers`)."""
    agents: Annotated[tuple[str, ...], Arg(positional=True, metavar="AGENT...")] = ()
    """One agent for all seats, or one for each seat; none for a replay."""
    seed: Maybe[int] = None
    """Seed of the deal (default: a fresh one, which is shown)."""
    seat: Annotated[int | None, Arg("all|N", read=_seat)] = None
    """Whose view to show (default: all cards face up)."""
    delay: Maybe[Seconds] = None
    """Seconds between moves (default: 0.8 at a terminal, else 0)."""
    html: Maybe[File] = None
    """Write a page with the whole game instead of showing it here."""
    gif: Maybe[File] = None
    """Write an animated picture instead of showing the game here."""
    mp4: Maybe[File] = None
    """Write a video instead of showing the game here."""
    speed: Annotated[Maybe[float], Arg(metavar="MOVES")] = None
    """Moves per second of --gif and --mp4 (default: 2; arena: 7.5)."""
    width: Annotated[Maybe[int], Arg(metavar="PIXELS")] = None
    """Width of --gif and --mp4 (default: that of the game's picture)."""
    svg: Maybe[File] = None
    """Write one picture instead of showing the game here."""
    move: Annotated[Maybe[int], Arg(metavar="N")] = None
    """Which picture --svg writes: the one after N moves (default: the last)."""
    replay: Maybe[File] = None
    """Write the game to FILE (JSON); watch it later by this name."""
    row: Annotated[Maybe[int], Arg(metavar="N")] = None
    """Which game of a folder to watch (default: list them)."""
    json: Flag = False
    """List all games of a folder as one JSON object, for programs."""


def run(argv: list[str]) -> int:
    """Show a game move by move; with --html, --gif, --mp4 or --svg, write that instead and say where it is."""
    chosen = parse(_Options, argv, "watch")
    if Path(chosen.game).is_dir() or _is_viewed_file(chosen.game):
        _watch_folder(chosen)
        return 0
    if chosen.row is not None or chosen.json:
        raise OptionError(f"--row and --json are for folders of recorded games; there is no folder {chosen.game}")
    if Path(chosen.game).is_file() or chosen.game.endswith(".json"):
        from ludory.data.replay import read_replay

        _watch_replay(chosen, read_replay(chosen.game))
    else:
        _watch_agents(chosen)
    return 0


def _is_viewed_file(name: str) -> bool:
    """Whether it is a file that a viewer shows; ids of games are no files, and replays need no viewer."""
    from ludory.data.replay import is_replay

    if not Path(name).is_file() or is_replay(name):
        return False
    from ludory.data.viewing.recorded_games import kinds_of

    return kinds_of(name) != []


def _watch_folder(chosen: _Options) -> None:
    from ludory.data.viewing.recorded_games import MOST_GAMES, kinds_of, list_games, replay_of
    from ludory.data.viewing.viewer import viewers

    kind = next(iter(kinds_of(chosen.game)), "replays")
    viewer = viewers().get(kind)
    if chosen.row is not None:
        if viewer:
            _watch_viewed(chosen, kind, viewer.what, chosen.row)
        else:
            _watch_replay(chosen, replay_of(chosen.game, chosen.row))
        return
    page = list_games(chosen.game, count=MOST_GAMES if chosen.json else LISTED, kind=kind)
    if chosen.json:
        print(json.dumps({"total": page.total, "rows": [row._asdict() for row in page.rows]}))
        return
    print(f"{page.total:,} games in {visible(chosen.game)}")
    for row in page.rows:
        score = ", ".join(f"{value:g}" for value in row.returns)
        length = f"{row.moves} {viewer.counts if viewer else 'moves'}"
        print(f"  row {row.row}: {visible(row.game)}, {length}, returns {score}{'' if row.finished else ', left'}")
    if page.total > len(page.rows):
        print(f"  and {page.total - len(page.rows):,} more; --json lists all")
    print(f"Watch one with `ludory watch {visible(chosen.game)} --row N`")


def _watch_viewed(chosen: _Options, kind: str, what: str, row: int) -> None:
    """A game that a viewer shows: as a page, or as text here."""
    from ludory.data.viewing.replay_page import filled_page
    from ludory.data.viewing.viewer import viewed_content, viewed_texts
    from ludory.envs.pictures import show

    _refuse_choices(chosen)
    others = {"--gif": chosen.gif, "--mp4": chosen.mp4, "--svg": chosen.svg, "--replay": chosen.replay}
    if any(others.values()):
        given = ", ".join(name for name, value in others.items() if value)
        raise OptionError(f"{given}: {what} are shown here, or as a page with --html FILE")
    if chosen.html:
        write_text(chosen.html, filled_page(viewed_content(kind, chosen.game, row)))
        print(f"The page is in {chosen.html}; open it in a browser")
        return
    delay = chosen.delay if chosen.delay is not None else DELAY if sys.stdout.isatty() else 0.0
    for words, picture in viewed_texts(kind, chosen.game, row):
        show(f"{CLEAR if sys.stdout.isatty() else ''}-- {visible(words)}\n\n{picture}\n")
        time.sleep(delay)


def _refuse_choices(chosen: _Options) -> None:
    if chosen.agents or chosen.option or chosen.seed is not None:
        raise OptionError(f"{chosen.game} is recorded: it already has its agents, seed and options; leave these out")


def _watch_replay(chosen: _Options, replay: Replay) -> None:
    from ludory.envs.make import make_game

    _refuse_choices(chosen)
    game = make_game(replay.game, **replay.options)
    _check(chosen, game)
    if not _writes(chosen):
        _animate(game, replay.agents, _again(replay), chosen)
    _write(chosen, replay, game)


def _watch_agents(chosen: _Options) -> None:
    from ludory.agents.make import make_agent
    from ludory.data.playthrough import Playthrough
    from ludory.data.replay import as_replay

    game = chosen.make(chosen.game)
    _check(chosen, game)
    names = seat_names(game.facts.players, chosen.agents)
    with log_on_stderr():
        playthrough = Playthrough(game, [make_agent(name, game) for name in names], chosen.seed)
    try:
        if _writes(chosen):
            for _ in playthrough:
                pass
        else:
            _animate(game, names, _live(playthrough), chosen)
    finally:
        # also what was played until somebody stopped it
        _write(chosen, as_replay(playthrough, names), game)


def _writes(chosen: _Options) -> bool:
    return any((chosen.html, chosen.gif, chosen.mp4, chosen.svg))


def _check(chosen: _Options, game: Game) -> None:
    """Check everything that can be wrong before a game is played."""
    from ludory.data.viewing.replay_video import check_replay_video

    if chosen.seat is not None and chosen.seat >= game.facts.players:
        raise OptionError(f"--seat {chosen.seat}: must be all or 0 to {game.facts.players - 1}")
    for name, file in (("gif", chosen.gif), ("mp4", chosen.mp4)):
        check_ending(f"--{name}", file, f".{name}")
        if file is not None:
            check_replay_video(file, game, chosen.speed, chosen.width)
    if chosen.move is not None and not chosen.svg:
        raise OptionError(f"--move {chosen.move} chooses the picture of --svg: add --svg FILE")
    for option, value in (("--speed", chosen.speed), ("--width", chosen.width)):
        if value is not None and not (chosen.gif or chosen.mp4):
            raise OptionError(f"{option} is for videos: add --gif FILE or --mp4 FILE")


def _live(playthrough: Playthrough) -> Iterator[Position]:
    yield playthrough.engine, None
    for move in playthrough:
        yield playthrough.engine, move


def _again(replay: Replay) -> Iterator[Position]:
    from ludory.data.replay import frames

    return zip(frames(replay), [None, *replay.moves], strict=True)


def _animate(game: Game, names: Sequence[str], positions: Iterator[Position], chosen: _Options) -> None:
    from ludory.data.playthrough import Narrator
    from ludory.envs.pictures import show, text_picture

    terminal = sys.stdout.isatty()
    delay = chosen.delay if chosen.delay is not None else DELAY if terminal else 0.0
    told = Narrator(game, chosen.seat)
    for engine, move in positions:
        words = told(engine, move)
        if move is None:
            words = visible(", ".join(names))
        show(f"{CLEAR if terminal else ''}-- {words}\n\n{text_picture(game, engine.state, 0, chosen.seat)}\n")
        time.sleep(delay)


def _write(chosen: _Options, replay: Replay, game: Game) -> None:
    from ludory.data.replay import write_replay

    print(f"{replay.game}, seed {replay.seed}. {outcome(game.facts, replay)}")
    if chosen.replay:
        write_replay(chosen.replay, replay)
        print(
            f"The replay is in {visible(chosen.replay)}; watch it with `ludory watch {visible(as_typed(chosen.replay))}`"
        )
    if chosen.svg:
        write_text(chosen.svg, _picture(game, replay, chosen.move, chosen.seat))
        print(f"The picture is in {chosen.svg}")
    if chosen.html:
        from ludory.data.viewing.replay_page import replay_html

        write_text(chosen.html, replay_html(replay, chosen.seat))
        print(f"The page is in {chosen.html}; open it in a browser")
    for file in (chosen.gif, chosen.mp4):
        if file is not None:
            _film(file, replay, game, chosen)
            print(f"The video is in {visible(file)}")


def _film(file: Path, replay: Replay, game: Game, chosen: _Options) -> None:
    from ludory.data.viewing.replay_video import replay_video

    with games_bar(len(replay.moves) + 1, title=str(visible(file)), unit="frames") as advance:
        replay_video(file, replay, chosen.seat, chosen.speed, chosen.width, game, lambda: advance(1))


def _picture(game: Game, replay: Replay, move: int | None, seat: int | None) -> str:
    from ludory.data.replay import frames

    number = len(replay.moves) if move is None else move
    if not 0 <= number <= len(replay.moves):
        raise OptionError(f"--move {number}: this game has the positions 0 to {len(replay.moves)}")
    if game.look.svg is None:
        raise OptionError(f"{game.id} draws no SVG pictures; leave --svg out")
    engine = next(islice(frames(replay), number, None))
    return game.look.svg(engine.state, 0, seat)
