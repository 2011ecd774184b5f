"""Go written from the rules, slowly: dictionaries of stones, searches for chains, and every earlier position as it was.

A point is (row, column) from the top left; action row * size + column, and size * size is the pass.
"""

from __future__ import annotations

Point = tuple[int, int]
Stones = dict[Point, int]


class Go:
    """One game: `stones` maps the occupied points to the seat whose stone they hold."""

    def __init__(self, size: int = 9, komi: float = 7, longest: int | None = None) -> None:
        self.size, self.komi = size, komi
        self.longest = 2 * size * size if longest is None else longest
        self.stones: Stones = {}
        self.earlier: set[frozenset[tuple[Point, int]]] = {frozenset()}
        self.to_move, self.moves, self.passes, self.over = 0, 0, 0, False

    def neighbours(self, point: Point) -> list[Point]:
        row, column = point
        four = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
        return [(r, c) for r, c in four if 0 <= r < self.size and 0 <= c < self.size]

    def region(self, stones: Stones, start: Point) -> tuple[set[Point], set[int | None]]:
        """The points of one colour (None: empty) that are connected with `start`, and the colours that border on them."""
        color, found, border, todo = stones.get(start), {start}, set(), [start]
        while todo:
            for near in self.neighbours(todo.pop()):
                if stones.get(near) != color:
                    border.add(stones.get(near))
                elif near not in found:
                    found.add(near)
                    todo.append(near)
        return found, border

    def after(self, point: Point) -> Stones | None:
        """The position after a stone of the seat to move; None if the stone would have no liberty."""
        stones = self.stones | {point: self.to_move}
        for near in self.neighbours(point):
            if stones.get(near) == 1 - self.to_move:
                chain, border = self.region(stones, near)
                if None not in border:
                    stones = {where: seat for where, seat in stones.items() if where not in chain}
        return stones if None in self.region(stones, point)[1] else None

    def legal(self) -> list[bool]:
        """Per action."""
        mask = []
        for action in range(self.size * self.size):
            point = divmod(action, self.size)
            stones = None if point in self.stones else self.after(point)
            mask.append(stones is not None and frozenset(stones.items()) not in self.earlier)
        return [*mask, True]

    def play(self, action: int) -> None:
        if action == self.size * self.size:
            self.passes += 1
        else:
            stones = self.after(divmod(action, self.size))
            assert stones is not None
            self.stones, self.passes = stones, 0
            self.earlier.add(frozenset(stones.items()))
        self.moves += 1
        self.to_move = 1 - self.to_move
        self.over = self.passes == 2 or self.moves == self.longest

    def areas(self) -> tuple[int, int]:
        """Points of both seats: their stones, and the empty regions that only they border on."""
        points, seen = [0, 0], set()
        for action in range(self.size * self.size):
            point = divmod(action, self.size)
            if point in self.stones:
                points[self.stones[point]] += 1
            elif point not in seen:
                region, border = self.region(self.stones, point)
                seen |= region
                if len(border) == 1:
                    points[border.pop()] += len(region)
        return points[0], points[1]

    def rewards(self) -> list[int]:
        black, white = self.areas()
        margin = black - white - self.komi
        return [1, -1] if margin > 0 else [-1, 1] if margin < 0 else [0, 0]
