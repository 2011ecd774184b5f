"""`ChatTemplate`: messages as tokens, so that a conversation only ever grows at its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ludory.errors import OptionError

Message = Mapping[str, str]
"""`role` (system, user or assistant) and `content`."""
_REPLY = "<think>first thought</think><answer>first answer</answer>"
_ADVICE = 'load the model with template="plain"'


class ChatTemplate:
    """The pieces of text that stand between the contents of messages, as token ids that are computed once.

    Contents are tokenised by themselves and never again, so ids of a conversation are a prefix of the ids after another turn. A chat
    template for which that would be another text is refused, such as one that removes thoughts from earlier turns.

    Args:
        tokenizer: of the model.
        encode: its text to ids, without tokens added at the start or the end.
        kind: "chat": the tokenizer's own template; "plain": a line with the role, the text, and an end marker; "auto": "chat" if
            the tokenizer has a template.

    Raises:
        OptionError: the kind is unknown, or the tokenizer's template is missing or is not stable.
    """

    # A tokenizer of transformers, as in `LanguageModel`.
    def __init__(self, tokenizer: Any, encode: Callable[[str], list[int]], kind: str = "auto") -> None:
        if kind not in ("auto", "chat", "plain"):
            raise OptionError(f"template={kind!r}: must be auto, chat or plain")
        has_own = bool(getattr(tokenizer, "chat_template", None))
        if kind == "chat" and not has_own:
            raise OptionError(f'template="chat": this tokenizer has no chat template; {_ADVICE}')
        self.kind = ("chat" if has_own else "plain") if kind == "auto" else kind
        """"chat" or "plain"."""
        self._encode = encode
        self._ids: dict[str, list[int]] = {}
        self._pieces = _pieces_of(_own(tokenizer)) if self.kind == "chat" else _plain_pieces(tokenizer.eos_token)
        if self.kind == "chat":
            _check(self._pieces, _own(tokenizer))

    def begin(self, messages: Sequence[Message]) -> list[int]:
        """Ids of a conversation's first messages, up to where the model answers; the last message is not the assistant's.

        Raises:
            OptionError: the template has no place for these roles in this order.
        """
        return self._joined("", messages)

    def following(self, messages: Sequence[Message], last: int | None = None) -> list[int]:
        """Ids of the messages after a reply of the model, from the end of the reply to where the model answers again.

        Args:
            messages: new ones.
            last: the last sampled id of the reply. If it is the end token that the template writes there, it is not repeated.
        """
        ids = self._joined("assistant", messages)
        return ids[1:] if last is not None and ids[:1] == [last] else ids

    def text(self, messages: Sequence[Message]) -> str:
        """The text of a conversation up to where the model answers."""
        return _assembled(self._pieces, messages)

    def _joined(self, role: str, messages: Sequence[Message]) -> list[int]:
        ids: list[int] = []
        for message in messages:
            ids += self._piece(role, message["role"])
            ids += self._encode(message["content"])
            role = message["role"]
        return ids + self._piece(role, "")

    def _piece(self, before: str, after: str) -> list[int]:
        text = _piece(self._pieces, before, after)
        if text not in self._ids:
            self._ids[text] = self._encode(text)
        return self._ids[text]


_Pieces = Mapping[tuple[str, str], str]
"""Text between the contents of two roles; "" is the start of the conversation, or behind its last content, where the model answers."""
_Render = Callable[[Sequence[Message]], str]


def _piece(pieces: _Pieces, before: str, after: str) -> str:
    if (before, after) in pieces:
        return pieces[before, after]
    order = f"{after or 'the reply'} after {before}" if before else f"{after} first"
    known = ", ".join(f"{b} -> {a or 'reply'}" if b else f"{a} first" for b, a in pieces)
    raise OptionError(f"the chat template has no place for {order}; it has {known}; change the messages, or {_ADVICE}")


def _assembled(pieces: _Pieces, messages: Sequence[Message]) -> str:
    roles = ["", *(message["role"] for message in messages), ""]
    between = [_piece(pieces, before, after) for before, after in pairwise(roles)]
    contents = [*(message["content"] for message in messages), ""]
    return "".join(piece + content for piece, content in zip(between, contents, strict=True))


def _plain_pieces(end: str | None) -> dict[tuple[str, str], str]:
    close, roles = f"{end or ''}\n", ("system", "user", "assistant")
    opening = {role: f"{role.capitalize()}:\n" for role in roles}
    pieces = {("", role): opening[role] for role in roles}
    pieces |= {(before, after): close + opening[after] for before in roles for after in roles}
    return pieces | {(role, ""): close + opening["assistant"] for role in ("system", "user")}


def _own(tokenizer: Any) -> _Render:
    def render(messages: Sequence[Message]) -> str:
        found: str = tokenizer.apply_chat_template(
            [dict(m) for m in messages], tokenize=False, add_generation_prompt=True
        )
        return found

    return render


def _pieces_of(render: _Render) -> dict[tuple[str, str], str]:
    """Pieces of a template, from what it writes around marked contents."""
    pieces: dict[tuple[str, str], str] = {}
    # every pair of roles that may follow one another
    for roles in (["user"], ["system", "user"], ["user", "assistant", "user"], ["system", "user", "assistant", "user"]):
        messages = [{"role": role, "content": f"content-{k}-of-{role}"} for k, role in enumerate(roles)]
        try:
            rest = render(messages)
        except Exception as error:  # templates raise whatever they like
            if roles[0] == "system":
                continue  # it has no system messages; `_piece` says so if there is one
            raise OptionError(f"the chat template refuses the roles {', '.join(roles)}: {error}; {_ADVICE}") from error
        found = []
        for message in messages:
            piece, mark, rest = rest.partition(message["content"])
            if not mark:
                raise OptionError(
                    f"the chat template leaves out or moves the {message['role']} message of "
                    f"{', '.join(roles)}, so that earlier turns would change; {_ADVICE}"
                )
            found.append(piece)
        # of a pair that is found twice the first; `_check` finds out whether they agree
        for pair, piece in zip(pairwise(["", *roles, ""]), [*found, rest], strict=True):
            pieces.setdefault(pair, piece)
    return pieces


def _check(pieces: _Pieces, render: _Render) -> None:
    """Refuse a template if longer conversations do not begin with the shorter ones.

    Raises:
        OptionError: with the first position that differs.
    """
    for first in ("user", "system"):
        if ("", first) not in pieces:
            continue
        messages = [{"role": "system", "content": "Rules."}] if first == "system" else []
        for turn in range(3):
            messages.append({"role": "user", "content": f"State {turn}.\nMore."})
            got, wanted = render(messages), _assembled(pieces, messages)
            if got != wanted:
                raise OptionError(_difference(got, wanted, len(messages)))
            messages.append({"role": "assistant", "content": _REPLY})


def _difference(got: str, wanted: str, count: int) -> str:
    same = next((k for k, (a, b) in enumerate(zip(got, wanted, strict=False)) if a != b), min(len(got), len(wanted)))
    shown = slice(max(same - 20, 0), same + 40)
    return (
        f"the chat template is not prefix-stable: with {count} messages its text differs at character {same}: it writes "
        f"{got[shown]!r} where earlier turns need {wanted[shown]!r}; {_ADVICE}"
    )
