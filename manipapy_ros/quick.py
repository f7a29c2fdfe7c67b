"""Entry point of the command `manipapy`: hold, reset and state at once, everything else by `manipapy_core.cli`.

These three ask the supervisor of this machine (`bringup.local_socket`). To load the packages of the whole command line
takes longer than its answer. Words that are not understood here, and robots without a supervisor, go the usual way.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from manipapy_core.cli.json_text import print_json

from .bringup.local_socket import RefusedLocally, ask

COMMANDS = ("hold", "reset", "state")


def main() -> None:
    """Run the command of this process."""
    if not answer(sys.argv[1:]):
        from manipapy_core.cli import main as run

        run()


def answer(words: Sequence[str]) -> bool:
    """Print the answer of a supervisor to a command line; False if there is none.

    Ends the process with code 2 if the command failed.
    """
    command = words[0] if words else ""
    options = _options(words[1:])
    if command not in COMMANDS or options is None:
        return False
    namespace, as_json = options
    try:
        found = ask(namespace, command)
    except RefusedLocally as error:
        print(f"manipapy: {error}", file=sys.stderr)
        sys.exit(2)
    if found is None:
        return False
    if as_json:
        print_json(found if command == "state" else {"text": found})
    elif command == "state":
        from .client.state_text import state_text

        print(state_text(found, colour=sys.stdout.isatty()))
    else:
        print(found)
    return True


def _options(words: Sequence[str]) -> tuple[str, bool] | None:
    """Namespace and whether JSON is wanted; None for other words."""
    namespace, as_json, rest = "", False, iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if word == "--json":
            as_json = True
        elif name == "--namespace" and (value := value if equals else next(rest, "-")) and not value.startswith("-"):
            namespace = value
        else:
            return None
    return namespace, as_json
