"""Level files as people have them: read, refused by place, written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludory.envs.sokoban.bank import given_rooms
from ludory.envs.sokoban.level_files import LEVEL_SYMBOLS, Level, level_text, levels_text, read_levels
from ludory.envs.sokoban.levels import alike, remarks
from ludory.envs.sokoban.state import FLOOR, TARGET, WALL
from ludory.errors import DataError

FILES = Path(__file__).parents[2] / "golden" / "text_games" / "level_files"
ROOM = "#####\n#@$.#\n#####"


def file_of(folder: Path, text: str | bytes) -> Path:
    """A level file with this text."""
    file = folder / "levels.txt"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def drawn(codes: np.ndarray) -> str:
    """Rows of a room."""
    return level_text(codes, "", "xsb").rstrip("\n")


def test_bytes_that_are_no_utf8_change_a_title_or_are_refused(tmp_path: Path) -> None:
    text = f"; 0\n{ROOM}\n\n; 1\n{ROOM}\n".encode()
    titles = set()
    for at in range(len(text) + 1):
        file = file_of(tmp_path, text[:at] + b"\xff\xfe" + text[at:])
        try:
            levels = read_levels(file).levels
        except DataError:
            continue
        assert [drawn(level.codes) for level in levels] == [ROOM, ROOM]
        titles |= {level.title for level in levels}
    assert {"0", "1", "\xff\xfe1"} <= titles


@pytest.mark.parametrize(
    "text",
    [
        f"; level 1\n{ROOM}\n".replace("\n", "\r\n"),
        f"{ROOM}\n\n{ROOM}\nTitle: Second\nAuthor: Nobody\n",
        ROOM,
        b"\xef\xbb\xbf" + ROOM.encode(),
        ROOM.encode("utf-16"),
        f"Author: M\u00fcller\n\n{ROOM}".encode("latin-1"),
        ROOM.replace("\n", "\r"),
        ROOM.replace("\n", "  \t\n"),
        "_#####\n-#p$.#\n-#####",
        "#####\n#@bo#\n#####",
        "4#1#|#@$.#|5#",
        "5#|#@$.#|5#|\n5#|#@$.#|5#|",
        "5#|\n#@$.#|\n5#",
        "  #####\n  #@$.#\n  ####",
        f"\n\n{ROOM}\n-----\n",
        f"A collection of Sokoban #1 (easy)\n\n{ROOM}\n\nBob\n\n{ROOM}\nComment: last",
        f":: ### ::\n{ROOM}\n; ###\n{ROOM}",
    ],
)
def test_level_files_of_all_collections_and_editors_are_read(tmp_path, text):
    assert {drawn(room) for room in given_rooms(file_of(tmp_path, text))} == {ROOM}


def test_a_player_and_a_box_on_targets_have_characters_of_their_own(tmp_path):
    for row in ("#+$* #", "#P$B #", "#Pb*-#"):
        (codes,) = given_rooms(file_of(tmp_path, f"######\n{row}\n#    #\n######"))
        assert drawn(codes).split("\n")[1] == "#+$* #"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("#####\n#@$. \n#####", "line 1: level 1, row 2: the wall is open in column 5: the player is not closed in"),
        ("#####\n#@$.\n#####", "row 2: the wall is open in column 5: the player"),
        ("######\n#@$. #\n### ##", "row 3: the wall is open in column 4: the player"),
        ("#####\n#@$.#\n#####\n# $.\n#####", "row 4: the wall is open in column 5: a box"),
        (f"{ROOM}\n\n; 7\n#####\n#@$ #\n#####", "line 6: level 2 '7': 1 box and 0 targets"),
        (f"{ROOM}\n\n#####\n#@$*#\n#####\nTitle: Two", "line 5: level 2 'Two': 2 boxes and 1 target"),
        ("#####\n#@..#\n#####", "0 boxes and 2 targets"),
        ("#####\n# $.#\n#####", "level 1: no player"),
        ("######\n#@$.@#\n######", "row 2: a second player in column 5; the first is in row 2"),
        ("; 1\n\n######\n#@\t$.#\n######", r"line 3: level 1 '1', row 2: column 3 is '\\t'"),
        ("#####\n#@$?#\n#####", r"row 2: column 4 is '\?'"),
        ("##?##\n#@$.#\n#####", r"row 1: column 3 is '\?'"),
        ("4##|#@$?#|5#", r"row 2: column 4 is '\?'"),
        ("8#|#6-#|#-@-$.-#|8#\n\n2(4#)|#6-#|#-@-$.-#|8#", r"line 3: level 2, row 1: column 1 is '\('"),
        ("#@$.#", "only 1 row;"),
        ("5#|#@$.900000#|5#", "more than 1,000 rows or columns"),
        ("", "no levels in it"),
        ("Sokoban #1\n", "no levels in it"),
        (b"\xff\xfe#", "cannot be read as a level file"),
    ],
)
def test_a_wrong_level_is_refused_by_its_place(tmp_path, text, problem):
    with pytest.raises(DataError, match=problem) as caught:
        given_rooms(file_of(tmp_path, text))
    assert str(tmp_path / "levels.txt") in str(caught.value)


def test_wrong_levels_are_left_out_by_name(tmp_path):
    file = file_of(tmp_path, f"{ROOM}\n\n#####\n#@$ #\n#####\n\n{ROOM}\n\n#####\n# $.#\n#####")
    with pytest.raises(DataError, match=r"levels that are wrong: 2; `ludory sokoban levels .* --skip-bad"):
        read_levels(file)
    found = read_levels(file, skip_bad=True)
    assert [level.number for level in found.levels] == [1, 3]
    assert [one.split(": ")[1] for one in found.wrong] == ["level 2", "level 4"]
    with pytest.raises(DataError, match="no level is right"):
        read_levels(file_of(tmp_path, "#@$.#"), skip_bad=True)


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        (f"; level 1\n{ROOM}\n; level 2\n{ROOM}", ["level 1", "level 2"]),
        (f"Title: A\n{ROOM}\n\nTitle: B\n{ROOM}", ["A", "B"]),
        (f"Title: A\n\n{ROOM}\n\nTitle: B\n\n{ROOM}", ["A", "B"]),
        (f"{ROOM}\nTitle: A\n\n{ROOM}\nTitle: B", ["A", "B"]),
        (f"{ROOM}\n\nTitle: A\n\n{ROOM}\n\nTitle: B", ["A", "B"]),
        (f"Title: All\n\n{ROOM}\nTitle: A\n\n{ROOM}", ["A", ""]),
        (f"Title: All\nAuthor: Me\n\n; 1\n{ROOM}\n\n; 2\n{ROOM}", ["1", "2"]),
        (f"{ROOM}\nTitle: A\n\n; 2\n{ROOM}", ["A", "2"]),
        (f"A\n\n{ROOM}\n\n'B'\n\n{ROOM}\n\nThe end", ["A", "B"]),
        (f"{ROOM}\nTitle: ......#\n; ##\n{ROOM}\nAuthor: ###", ["......#", "##"]),
        (f"Set 1\n\n{ROOM}\n\n; Author's choice\n{ROOM}", ["Set 1", "Author's choice"]),
        (f"{ROOM}\nAuthor: Me\nSolution: r\nA note\n\n{ROOM}", ["", ""]),
    ],
)
def test_titles_stand_before_or_after_their_levels(tmp_path, text, titles):
    assert [level.title for level in read_levels(file_of(tmp_path, text)).levels] == titles


GOLDEN = {
    "collection.xsb": [
        (7, "Around the corner", ["#######", "####  #", "# $.@ #", "#######"]),
        (18, "A step", ["#####", "#@$.#", "#####"]),
        (26, "", ["#########", "#####+  #", "# $   $.#", "#########"]),
    ],
    "collection.sok": [
        (7, "First", ["#######", "#@ $. #", "#######"]),
        (11, "Second", ["#########", "#   #####", "#@ $  .##", "#########"]),
        (16, "", ["#####", "#@$.#", "#####"]),
        (17, "Two lines make two levels", ["#####", "#.$+#", "# $ #", "#####"]),
    ],
    "comments.txt": [
        (3, "level 1", ["#####", "#@$.#", "#####"]),
        (10, "Corridor", ["######", "#@ $.#", "######"]),
        (16, "Third room", ["######", "#.$ @#", "######"]),
    ],
    "numbers.txt": [
        (2, "0", ["#######", "#@ $ .#", "#     #", "#######"]),
        (8, "1", ["#######", "#. $ @#", "#     #", "#######"]),
    ],
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_files_of_each_dialect_are_read(name):
    levels = read_levels(FILES / name).levels
    assert [(level.line, level.title, drawn(level.codes).split("\n")) for level in levels] == GOLDEN[name]
    assert [level.number for level in levels] == list(range(1, len(levels) + 1))


def test_a_folder_has_the_levels_of_all_its_files():
    assert len(read_levels(FILES).levels) == sum(map(len, GOLDEN.values()))


def test_solved_levels_and_those_that_no_pushes_solve_are_taken_with_a_word(tmp_path):
    solved, corner, apart = "#####\n#@* #\n#####", "#####\n#@ $#\n#.  #\n#####", "########\n#@# $ .#\n########"
    levels = read_levels(file_of(tmp_path, "\n\n".join([ROOM, solved, corner, apart]))).levels
    assert [said.split(": ", 1)[1] for said in remarks(levels)] == [
        "level 2: is solved already",
        "level 3: cannot be solved: the box in row 2, column 4 can never reach a target",
        "level 4: cannot be solved: the player can push no box",
    ]
    assert len(given_rooms(file_of(tmp_path, solved))) == 1


def test_rooms_of_a_bank_have_one_size_and_equally_many_boxes(tmp_path):
    two = "######\n#+$$.#\n######"
    found = read_levels(file_of(tmp_path, f"{ROOM}\n\n{two}\nTitle: Two\n\n######\n#@ $.#\n######"))
    with pytest.raises(DataError, match="level 2 'Two': 3 rows and 6 columns, the first level has 3 and 5"):
        alike(found)
    rooms, kept = alike(found, size=6, boxes=1, skip_bad=True)
    assert [level.number for level in kept.levels] == [1, 3]
    assert drawn(rooms[0]) == "#####" + "#\n#@$.##\n" + "\n".join(["######"] * 4)
    assert kept.wrong == [
        f"{tmp_path / 'levels.txt'}, line 5: level 2 'Two': 2 boxes, must be 1; `--boxes N` says how many, at most 16"
    ]
    with pytest.raises(DataError, match="rooms have at most 5 of each"):
        alike(found, size=5)


@st.composite
def levels(draw) -> Level:
    """A level in a closed wall, with any walls inside."""
    rows, columns = draw(st.integers(3, 7)), draw(st.integers(4, 8))
    boxes = draw(st.integers(1, ((rows - 2) * (columns - 2) - 1 + 1) // 2))
    cells = draw(st.permutations(range((rows - 2) * (columns - 2))))
    inside = np.array([draw(st.sampled_from([WALL, FLOOR])) for _ in cells], np.uint8)
    targets, others = cells[:boxes], draw(st.permutations(cells))
    inside[targets] = TARGET
    for cell, on_floor, on_target in [(others[0], 5, 6), *((cell, 4, 3) for cell in others[1 : boxes + 1])]:
        inside[cell] = on_target if inside[cell] == TARGET else on_floor
    title = draw(st.text("Abo #.-1|é:", max_size=12)).strip()
    return Level(np.pad(inside.reshape(rows - 2, columns - 2), 1), title)


@pytest.mark.parametrize("form", ["xsb", "rle", "boxoban"])
@settings(max_examples=30)
@given(st.lists(levels(), min_size=1, max_size=4))
def test_levels_are_read_as_they_were_written(tmp_path_factory, form, written):
    read = read_levels(file_of(tmp_path_factory.mktemp("levels"), levels_text(written, form))).levels
    assert len(read) == len(written)
    for one, other in zip(read, written, strict=True):
        assert np.array_equal(one.codes, other.codes)
        assert form == "boxoban" or one.title == other.title


def test_symbols_stand_for_codes():
    assert [LEVEL_SYMBOLS.index(symbol) for symbol in "# .*$@+"] == list(range(7))
