"""The last two tricks of a hand for points, without a stack: most positions of a search are these."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from ludory.envs import kernel
from ludory.envs.texas42.bits import count_of, index_of

FAR = 99
"""Beyond every value."""


@kernel
def last_trick(hands, left, leader, rest, wins):
    """Value of the last trick, in which every seat has one tile."""
    # places ascend in strength among the tiles that can win, so the larger of the two masks holds the winning tile
    able = int(wins[index_of(int(hands[leader]) & left)])
    even = (int(hands[0]) | int(hands[2])) & left & able
    odd = (int(hands[1]) | int(hands[3])) & left & able
    return rest if even > odd else -rest


@kernel
def last_two_tricks(hands, left, leader, rest, alpha, beta, follows, wins, fives, tens):
    """Value of two tricks of points, or a bound outside (alpha, beta); all from the leader's side."""
    hand_b, hand_c = int(hands[(leader + 1) & 3]) & left, int(hands[(leader + 2) & 3]) & left
    hand_d, leads = int(hands[(leader + 3) & 3]) & left, int(hands[leader]) & left
    # beyond every bound, so that the first tile always replaces it
    best_a = -FAR
    while leads != 0:
        a = leads & -leads
        leads ^= a
        at = index_of(a)
        follow, able = int(follows[at]), int(wins[at])
        points_a = 1 + count_of(a, fives, tens)  # a trick is worth 1 besides its counts
        # Seats further down compare with the seat above alone: less is cut than with the whole window, and the value is
        # the same.
        floor = max(alpha, best_a)
        best_b = FAR
        moves_b = hand_b & follow
        moves_b = moves_b if moves_b != 0 else hand_b
        while moves_b != 0:
            b = moves_b & -moves_b
            moves_b ^= b
            points_b = points_a + count_of(b, fives, tens)
            top_b = max(a, b & able)  # 0 where b cannot win
            best_c = -FAR
            moves_c = hand_c & follow
            moves_c = moves_c if moves_c != 0 else hand_c
            while moves_c != 0:
                c = moves_c & -moves_c
                moves_c ^= c
                points_c = points_b + count_of(c, fives, tens)
                top_c = max(top_b, c & able)
                best_d = FAR
                moves_d = hand_d & follow
                moves_d = moves_d if moves_d != 0 else hand_d
                while moves_d != 0:
                    d = moves_d & -moves_d
                    moves_d ^= d
                    points = points_c + count_of(d, fives, tens)
                    top = max(top_c, d & able)
                    ours = top & (a | c) != 0
                    winner = leader if top == a else leader + 1 if top == b else leader + 2 if top == c else leader + 3
                    # the window is not handed on: the last trick is one comparison
                    value = last_trick(hands, left ^ (a | b | c | d), winner & 3, rest - points, wins)
                    # `last_trick` answers from Team 0's side
                    value = (value if leader & 1 == 0 else -value) + (points if ours else -points)
                    best_d = min(best_d, value)
                    # the seat above has a tile already that is at least as good for its side
                    if best_d <= best_c:
                        break
                best_c = max(best_c, best_d)
                if best_c >= best_b:
                    break
            best_b = min(best_b, best_c)
            if best_b <= floor:
                break
        best_a = max(best_a, best_b)
        if best_a >= beta:
            break
    return best_a
