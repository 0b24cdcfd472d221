"""Parses POSIX shell commands that consist of simple commands, and nothing that a shell would expand."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from importlib import resources
from typing import NamedTuple

LONGEST = 20_000
_OPERATORS = ("&&", "||", ";", "|", "\n")
_EXPANDS = {
    "$": "it uses a variable or a substitution",
    "`": "it uses a substitution",
    "(": "it uses a subshell",
    ")": "it uses a subshell",
    "{": "it uses a brace expansion",
    "}": "it uses a brace expansion",
    "<": "it redirects input or output",
    ">": "it redirects input or output",
    "&": "it runs something in the background",
    "!": "it uses history or a negation",
}
_GLOB = re.compile(r"[*?\[\]~]")
_OPTION_GLOB = re.compile(r"[*?\[]|-[^=]*[*?\[]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_WORDS = tomllib.loads(resources.files(__package__).joinpath("words.toml").read_text("utf-8"))


class UnreadableCommand(Exception):
    """A command that is more than simple commands; the text says why."""


class Word(NamedTuple):
    """One word, without quotes; `bare` tells whether any of it was written without quotes and may be expanded."""

    text: str
    bare: bool


def simple_commands(text: str) -> list[list[Word]]:
    """The simple commands of a text, each as its words. Raises UnreadableCommand for what a shell would expand."""
    if len(text) > LONGEST:
        raise UnreadableCommand("it is too long to be checked")
    if _CONTROL.search(text):
        raise UnreadableCommand("it contains control characters")
    if not text.isascii() and any(character.isspace() for character in text if not character.isascii()):
        raise UnreadableCommand("it contains unusual spaces")
    commands: list[list[Word]] = [[]]
    for part in _Reader(text).parts():
        if isinstance(part, Word):
            commands[-1].append(part)
        else:
            commands.append([])
    found = [command for command in commands if command]
    for command in found:
        _check_program(command[0])
    return found


def _check_program(word: Word) -> None:
    if _ASSIGNMENT.match(word.text):
        raise UnreadableCommand("it sets a variable before the program")
    if word.bare and _GLOB.search(word.text):
        raise UnreadableCommand("its program is a pattern")


def risky_options(words: Sequence[Word], allowed: int = 1) -> tuple[str, ...]:
    """The options that a command may not have, behind as many words as are allowed by name."""
    program = words[0].text.rpartition("/")[2]
    found = _WORDS["risky_options"].get(program, "")
    if program == "git" and len(words) > 1:
        found += " " + _WORDS["risky_options_of_git"].get(words[1].text, "")
    if program == "tar" and allowed == 1 and len(words) > 1 and re.search("[IF]", words[1].text):
        found += " " + words[1].text  # The first word may be letters of options without a hyphen.
    return tuple(found.split())


def may_be_option(word: Word, option: str) -> bool:
    """Whether a word is an option as programs read it: in full, shortened, with its value, or among other letters."""
    if word.bare and _OPTION_GLOB.match(word.text):
        return option.startswith("-")  # It may be the name of a file that looks like an option.
    text = word.text
    if option.startswith("--"):
        name = text.partition("=")[0]
        return len(name) > 2 and option.startswith(name)
    if len(option) == 2 and option.startswith("-"):
        return text.startswith("-") and not text.startswith("--") and option[1] in text
    return text == option or text.startswith(option + "=")


class _Reader:
    """Reads words and operators of a command line, character by character."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text.strip(" \t"), 0

    def parts(self) -> list[Word | str]:
        found: list[Word | str] = []
        while self._at < len(self._text):
            if self._text[self._at] in " \t":
                self._at += 1
            elif self._text[self._at] == "#":
                raise UnreadableCommand("it contains a comment")
            elif (operator := self._operator()) is not None:
                found.append(operator)
            else:
                found.append(self._word())
        return found

    def _operator(self) -> str | None:
        for one in _OPERATORS:
            if self._text.startswith(one, self._at):
                self._at += len(one)
                return one
        return None

    def _word(self) -> Word:
        found, bare = "", False
        while self._at < len(self._text):
            character = self._text[self._at]
            if character in " \t\n;|":
                break
            if character == "&" and self._text.startswith("&&", self._at):
                break
            if character in "'\"":
                found += self._take_quoted(character)
            elif character == "\\":
                found += self._escaped()
            elif character in _EXPANDS:
                raise UnreadableCommand(_EXPANDS[character])
            else:
                found, bare = found + character, True
                self._at += 1
        return Word(found, bare)

    def _take_quoted(self, quote: str) -> str:
        end = self._text.find(quote, self._at + 1)
        if end < 0:
            raise UnreadableCommand("a quote is not closed")
        inside = self._text[self._at + 1 : end]
        if quote == '"' and any(character in inside for character in "$`\\!"):
            raise UnreadableCommand("it expands something inside quotes")
        self._at = end + 1
        return inside

    def _escaped(self) -> str:
        if self._at + 1 >= len(self._text) or self._text[self._at + 1] == "\n":
            raise UnreadableCommand("it continues on the next line")
        self._at += 2
        return self._text[self._at - 1]
