"""The MCP clients whose configuration files Assent edits, and where those files are."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ClientFormat:
    """A client and the place of its file on each system."""

    title: str
    linux: str
    mac: str = ""
    windows: str = ""
    variable: str = ""
    """An environment variable that names the folder of the file."""

    def path(self, environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
        """The path of the user's own file on this system."""
        if self.variable and (folder := environment.get(self.variable)):
            return Path(folder) / Path(self.linux).name
        if platform == "win32":
            return Path(os.path.expandvars(self.windows or self.linux)).expanduser()
        from assent.config.load import own_path

        return own_path(self.mac if platform == "darwin" and self.mac else self.linux, environment)


CLIENTS: Mapping[str, ClientFormat] = {
    "claude-desktop": ClientFormat(
        "Claude Desktop",
        "~/.config/Claude/claude_desktop_config.json",
        "~/Library/Application Support/Claude/claude_desktop_config.json",
        "%APPDATA%\\Claude\\claude_desktop_config.json",
    ),
    "claude-code": ClientFormat("Claude Code", "~/.claude.json"),
    "cursor": ClientFormat("Cursor", "~/.cursor/mcp.json"),
    "vscode": ClientFormat(
        "VS Code",
        "~/.config/Code/User/mcp.json",
        "~/Library/Application Support/Code/User/mcp.json",
        "%APPDATA%\\Code\\User\\mcp.json",
    ),
    "codex": ClientFormat("Codex", "~/.codex/config.toml", variable="CODEX_HOME"),
    "gemini": ClientFormat("Gemini CLI", "~/.gemini/settings.json"),
    "zed": ClientFormat("Zed", "~/.config/zed/settings.json", windows="%APPDATA%\\Zed\\settings.json"),
    "goose": ClientFormat(
        "Goose", "~/.config/goose/config.yaml", windows="%APPDATA%\\Block\\goose\\config\\config.yaml"
    ),
    "continue": ClientFormat("Continue", "~/.continue/config.yaml"),
    "windsurf": ClientFormat("Windsurf", "~/.codeium/windsurf/mcp_config.json"),
}
