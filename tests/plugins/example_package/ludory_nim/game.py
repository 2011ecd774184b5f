"""Nim: two seats in turn take any number of sticks from one heap; who takes the last stick wins (Bouton 1901)."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from ludory.envs import (
    Field,
    Game,
    GameFacts,
    Head,
    Kernels,
    Look,
    ObservationSpec,
    Rules,
    begin_episode,
    draw,
    flat_segments,
    header,
    kernel,
)
from ludory.envs.pictures import clickable, svg_document

HEAPS, LARGEST = 3, 5


@kernel
def largest_heap(state):
    """Sticks a heap can hold, from the shapes."""
    return state.sizes.shape[1]


@kernel
def reset(state, i):
    """Heaps of 1 to the largest size, drawn at random."""
    begin_episode(state, i)
    for heap in range(state.heaps.shape[1]):
        state.heaps[i, heap] = 1 + draw(state, i, largest_heap(state))
    state.to_move[i] = 0
    state.terminated[i] = False
    state.truncated[i] = False


@kernel
def legal(state, i, seat, mask):
    """Id heap * largest + k takes k + 1 sticks."""
    largest = largest_heap(state)
    for heap in range(state.heaps.shape[1]):
        for k in range(int(state.heaps[i, heap])):
            mask[heap * largest + k] = True


@kernel
def step(state, i, action):
    """Take sticks; the last one wins."""
    seat, largest, left = int(state.to_move[i]), largest_heap(state), 0
    state.heaps[i, action // largest] -= action % largest + 1
    for heap in range(state.heaps.shape[1]):
        left += int(state.heaps[i, heap])
    if left == 0:
        state.rewards[i, seat] = 1
        state.rewards[i, 1 - seat] = -1
        state.terminated[i] = True
    state.to_move[i] = 1 - seat


@kernel
def observe(state, i, seat, out):
    """Each heap as a thermometer."""
    largest = largest_heap(state)
    for heap in range(state.heaps.shape[1]):
        for k in range(int(state.heaps[i, heap])):
            out[heap * largest + k] = 1


def draw_svg(state, i, seat):
    """The heaps in rows; a click on a stick takes it and all to the right of it."""
    largest, lines = state.sizes.shape[1], []
    for heap, count in enumerate(state.heaps[i].tolist()):
        for stick in range(count):
            action = heap * largest + count - stick - 1
            mark = f'<rect x="{60 + 44 * stick}" y="{16 + 90 * heap}" width="26" height="74" rx="8" fill="#d9a05b"/>'
            lines.append(clickable([action], mark))
    return svg_document(100 + 44 * largest, 10 + 90 * len(state.heaps[i]), "Nim", "", "#22303c", lines)


def make_game(heaps: int = HEAPS, largest: int = LARGEST) -> Game:
    """Nim with `heaps` heaps of at most `largest` sticks."""
    size = heaps * largest
    facts = GameFacts(
        name="Nim",
        players=2,
        turns="sequential",
        reward="zero_sum",
        hidden_information=False,
        chance=True,
        heads=(Head("take", size),),
        observation=ObservationSpec("heaps", (size,), "uint8", flat_segments({"heaps": size})),
        longest_game=size,
        min_return=-1,
        max_return=1,
    )
    return Game(
        facts,
        Rules(
            header(players=2)
            | {"heaps": Field("int32", (heaps,), low=0, high=largest), "sizes": Field("int8", (largest,))},
            Kernels(reset, step, legal, observe),
        ),
        look=Look(
            action_name=lambda head, action: f"take {action % largest + 1} from heap {action // largest + 1}",
            svg=draw_svg,
            text=lambda state, i, seat: " ".join("|" * int(heap) or "-" for heap in state.heaps[i]),
        ),
    )
