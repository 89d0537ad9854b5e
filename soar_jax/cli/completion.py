"""``soar completion``: a script that completes commands, options and choices in a shell.

The script is made from the parsers, holds all words itself and needs no package, so that pressing Tab starts no Python.
"""

from __future__ import annotations

import argparse
from typing import Any

from soar_jax.cli.parsers import new_command

EXAMPLE = """\
echo 'eval "$(soar completion bash)"' >> ~/.bashrc
soar completion zsh > "${fpath[1]}/_soar"
soar completion fish > ~/.config/fish/completions/soar.fish"""


def add_parser(commands: Any) -> None:
    """Describe the command."""
    completion = new_command(commands, "completion", "print a script that completes soar in your shell", EXAMPLE)
    completion.add_argument("shell", choices=tuple(SCRIPTS))
    completion.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    print(SCRIPTS[args.shell]({name: _options(parser) for name, parser in args.parsers.items()}), end="")
    return 0


class Option:
    """An option of a command, or a positional argument when it has no flags."""

    def __init__(self, action: argparse.Action) -> None:
        self.flags = list(action.option_strings)
        self.choices = [str(choice) for choice in action.choices] if action.choices is not None else []
        self.takes_value = action.nargs != 0
        self.help = (action.help or "").partition("(default")[0].strip().replace("%%", "%")


def _options(parser: argparse.ArgumentParser) -> list[Option]:
    return [Option(action) for action in parser._actions]


Commands = dict[str, list[Option]]


def _flags(options: list[Option]) -> str:
    return " ".join(flag for option in options for flag in option.flags)


def _words(options: list[Option]) -> str:
    """Choices of the positional arguments."""
    return " ".join(choice for option in options if not option.flags for choice in option.choices)


def bash(commands: Commands) -> str:
    """Write the script for bash; whatever is no option or choice is completed as a file."""
    choices, words = [], []
    for name, options in commands.items():
        for option in options:
            if option.flags and option.choices:
                pattern = " | ".join(f'"{name} {flag}"' for flag in option.flags)
                choices.append(f"    {pattern}) COMPREPLY=($(compgen -W '{' '.join(option.choices)}' -- \"$word\"));;")
        words.append(f"    {name}) flags='{_flags(options)}' words='{_words(options)}';;")
    return "\n".join(
        [
            "_soar() {",
            '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="" flags words i',
            "  COMPREPLY=()",
            "  for ((i = 1; i < COMP_CWORD; i++)); do",
            '    if [[ ${COMP_WORDS[i]} != -* ]]; then command="${COMP_WORDS[i]}"; break; fi',
            "  done",
            "  if [[ -z $command ]]; then",
            f"    COMPREPLY=($(compgen -W '{' '.join(commands)} --help --version --debug' -- \"$word\"))",
            "    return",
            "  fi",
            '  case "$command $before" in',
            *choices,
            "  esac",
            "  if ((${#COMPREPLY[@]})); then return; fi",
            '  case "$command" in',
            *words,
            "  esac",
            "  if [[ $word == -* ]]; then",
            '    COMPREPLY=($(compgen -W "$flags" -- "$word"))',
            "  else",
            '    COMPREPLY=($(compgen -W "$words" -- "$word"))',
            "  fi",
            "}",
            "complete -o bashdefault -o default -F _soar soar",
            "",
        ]
    )


def zsh(commands: Commands) -> str:
    """Write the script for zsh."""
    cases = []
    for name, options in commands.items():
        specs = []
        for option in options:
            values = f"({' '.join(option.choices)})" if option.choices else "_files"
            if not option.flags:
                specs.append(f"'*:value:{values}'")
                continue
            about = _zsh_text(option.help)
            for flag in option.flags:
                specs.append(f"'*{flag}[{about}]" + (f":value:{values}'" if option.takes_value else "'"))
        cases.append(f"    {name}) _arguments {' '.join(specs)} ;;")
    return "\n".join(
        [
            "#compdef soar",
            "_soar() {",
            "  local -a soar_commands",
            f"  soar_commands=({' '.join(commands)})",
            "  if ((CURRENT == 2)); then",
            "    compadd -- $soar_commands --help --version --debug",
            "    return",
            "  fi",
            "  local command=$words[2]",
            "  shift words",
            "  ((CURRENT--))",
            "  case $command in",
            *cases,
            "  esac",
            "}",
            'if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _soar "$@"; else compdef _soar soar; fi',
            "",
        ]
    )


def _zsh_text(text: str) -> str:
    for sign in ("\\", "[", "]", ":"):
        text = text.replace(sign, "\\" + sign)
    return text.replace("'", "'\\''")


def fish(commands: Commands) -> str:
    """Write the script for fish."""
    lines = [f"complete -c soar -n __fish_use_subcommand -f -a '{' '.join(commands)}'"]
    for name, options in commands.items():
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        for option in options:
            about = option.help.replace("\\", "\\\\").replace("'", "\\'")
            values = f" -x -a '{' '.join(option.choices)}'" if option.choices else ""
            if not option.flags:
                lines += [f"complete -c soar {seen}{values}"] if values else []
                continue
            flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
            needs = values or (" -r" if option.takes_value else "")
            lines.append(f"complete -c soar {seen} {flags} -d '{about}'{needs}")
    return "\n".join([*lines, ""])


SCRIPTS = {"bash": bash, "zsh": zsh, "fish": fish}
