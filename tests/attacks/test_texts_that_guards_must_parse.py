"""A text that only contains something good is not good: guards read the whole text, or they object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assent.rules.guards import build_guard
from assent.rules.guards.context import Context
from assent.rules.guards.evaluate import NOT_CHECKED, objection_to
from assent.rules.guards.lookups import look_up, lookup_needs

GOOD = "good.example"
ADDRESSES = {"good.example": ("93.184.215.14",), "evil.com": ("93.184.215.15",), "inside.example": ("10.0.0.5",)}
NOT_ONE_LINK = [
    "evil.com/?x=https://good.example/",
    "evil.com/https://good.example/",
    "evil.com#https://good.example/",
    "evil.com:80/?x=https://good.example/",
    "evil.com\\https://good.example/",
    "//evil.com/?x=https://good.example/",
    "evil.com/ann@good.example",
    "evil.com?ann@good.example",
    "evil.com#ann@good.example",
    "evil.com/x@good.example",
    "evil.com:9/x@good.example",
    "evil.com www.good.example",
    "evil.com https://good.example/",
    "https://evil.com/ https://good.example/",
    "see https://good.example/",
    "ann@good.example evil.com",
    "evil.com <ann@good.example>/x",
    "javascript:location='//good.example'",
    "ldap:evil.com/ann@good.example",
    "evil。com/?x=https://good.example/",
    "ann@good.example。evil.com",
    "ann@good.example｡evil.com",
    "ann%evil.com@good.example",
    "evil.com!ann@good.example",
    "ann@good.example, evil.com",
    "users: ann@good.example;",
    "mailto:ann@good.example?bcc=eve@evil.com",
    "mailto:ann@good.example?bcc=eve%2540evil.com",
    "mailto:ann@good.example,evil",
    "mailto:?to=eve%40evil.com&cc=ann@good.example",
    "ssh://good.example -oProxyCommand=id",
    "ssh://-oProxyCommand=id@good.example/",
    "https://good.example/ HTTP/1.1",
    "https://good.example\r\nHost: evil.com",
    "https://good.example/x\x00y",
    "https://good.example/?u=https%3A%2F%2Fevil.com",
    "https://good.example/?u=https%253A%252F%252Fevil.com",
    "https://good.example/?u=eve%40evil.com",
    "file://good.example/etc/passwd",
]
PRIVATE = [
    "127.0.0.1:9/x@8.8.8.8",
    "127.0.0.1/x@8.8.8.8",
    "127.0.0.1?x=https://good.example/",
    "127.0.0.1#https://good.example/",
    "127.0.0.1\\@good.example",
    "good.example@127.0.0.1/x",
    "localhost:9/?x=https://good.example",
    "localhost/https://good.example",
    "inside.example/?x=https://good.example/",
    "2130706433/?x=http://good.example",
    "0x7f.1/?x=http://good.example",
    "[::1]:9/https://good.example/",
    "169.254.169.254/latest?http://good.example",
    "metadata.google.internal/x@good.example",
    "127。0。0。1/x@good.example",
    "\t127.0.0.1/https://good.example",
]
SPECIAL_ADDRESSES = [
    "http://[fec0::1]/",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]/",
    "http://[ff02::1]/",
    "http://[::127.0.0.1]/",
    "http://[::7f00:1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[64:ff9b:1::a00:1]/",
    "http://[64:ff9b::a00:1]/",
    "http://[100::1]/",
    "http://[2001:db8::1]/",
    "http://[2001::1]/",
    "http://[2001:10::1]/",
    "http://[2001:20::1]/",
    "http://[2002:a00:1::1]/",
    "http://[3fff::1]/",
    "http://[5f00::1]/",
    "http://[2600::5efe:a00:1]/",
    "http://[2600::200:5efe:7f00:1]/",
    "http://[4000::1]/",
    "http://192.88.99.1/",
    "http://192.0.0.8/",
    "http://198.18.0.1/",
    "http://240.0.0.1/",
]
RECIPIENTS = [
    "eve@good.example。evil.com",
    "eve@good.example｡evil.com",
    "eve@good.example\u3002evil\u3002com",
    "eve@evil.com/@good.example",
    "eve%evil.com@good.example",
    "evil.com!eve@good.example",
    '"eve@evil.com"@good.example',
    "eve@evil.com(@good.example)",
    "<eve@evil.com> <ann@good.example>",
    "ann@good.example <eve@evil.com>",
    "group: eve@evil.com, ann@good.example;",
    "ann@good.example\nbcc: eve@evil.com",
    "@evil.com:ann@good.example",
    "ann@good.example:evil.com",
    "ann@good.example/evil",
    "ann @good.example eve@evil.com",
    "ann@good.example\x00eve@evil.com",
    "evil.com?to=ann@good.example",
    "ann@[evil.com]good.example",
    "ann@good.example|eve",
    "ann@good..example.evil.com",
    "ann@good.example;everybody",
]
BRANCHES = [
    "refs/heads/*:refs/heads/*",
    "+refs/heads/*:refs/heads/*",
    "refs/*:refs/*",
    "refs/heads/ma*",
    "*",
    "--all",
    "--mirror",
    "--delete",
    "-f",
    "-",
    ":",
    "+:",
    "fix main",
    "fix,main",
    "fix\nmain",
    "fix:main,other",
    "fix@{upstream}",
    "fix@{push}",
    "@{-1}",
    ":/main",
    "^fix",
    "refs//heads/main",
    "/main",
    "main/",
    "./main",
    "ma[i]n",
    "ma?n",
    "fix..main",
    "origin/main",
    "refs/heads/refs/heads/main",
    "main\x00",
    "x:+main",
    "origin/refs/heads/main",
    "refs/remotes/origin/refs/heads/main",
    "%25%36%64ain",
    '"main"',
    "fix;main",
    "$BRANCH",
]
REPOSITORIES = [
    "https://evil.org/acme/site",
    "https://github.com.evil.org/acme/site",
    "https://github.com@evil.org/acme/site",
    "https://evil.org:443/acme/site",
    "https://github.com:8443/acme/site",
    "git@evil.org:acme/site.git",
    "git@github.com@evil.org:acme/site",
    "ssh://git@evil.org/acme/site",
    "ssh://evil.org/acme/site",
    "git://github.com/acme/site",
    "http://github.com/acme/site",
    "https://github.com/evil/x/acme/site",
    "https://github.com//acme/site",
    "https://github.com/acme/site/../other",
    "https://github.com/acme/site?x",
    "https://github.com/acme/site#x",
    "https://github.com\\acme/site",
    "ext::sh -c id acme/site",
    "file:///acme/site",
    "/acme/site",
    "evil.org:acme/site",
    "acme/site evil/x",
]
COMMANDS = [
    "sort -oX a",
    "sort -o X a",
    "sort -ro X a",
    "sort -nroX a",
    "sort --output=X a",
    "sort --output X a",
    "sort --out=X a",
    "sort --o X a",
    "sort a -oX",
    "sort '-oX' a",
    "sort --compress-program=id a",
    "sort --compress-prog id a",
    "sort *",
    "sort [-]o X",
    "sort -? X",
    "sort -[o] X",
    "find . -exec id ;",
    "find . -delete",
    "find . -fprintf X x",
    "git log --output=X",
    "git log --outp=X",
    "git log --ext-diff",
    "sed -i s/a/b/ x",
    "sed -ni s/a/b/ x",
    "tree -o X",
    "date --set=2020-01-01",
    "cat a | sort -oX",
]
KEYWORDS = [
    "ᴘᴀꜱꜱᴡᴏʀᴅ",
    "🅟🅐🅢🅢🅦🅞🅡🅓",
    "🅿🅰🆂🆂🆆🅾🆁🅳",
    "🇵🇦🇸🇸🇼🇴🇷🇩",
    "⒫⒜⒮⒮⒲⒪⒭⒟",
    "p\u20dda\u20dds\u20dds\u20ddw\u20ddo\u20ddr\u20ddd",
    "p\u0488assword",
    "pass\ue000word",
    "pass\u0903word",
    "pɐssword",
    "passworđ",
    "passwørd",
    "paſſword",
    "".join(chr(0xE0000 + ord(letter)) for letter in "password"),
    "pass\U000e0077ord",
]
PATHS = [
    "link/../secret",
    "link/../secret.txt",
    "./link/../secret",
    "sub/link/../secret",
    "link/..",
    "%6cink/../secret",
    "link\\..\\secret",
    "link/./../secret",
    "link//../secret",
    "a/../link/../secret",
    "link/../../outside/secret",
    "$HOME/x",
    "${HOME}/x",
    "%APPDATA%/x",
    "~/x",
]
CLIMBS = [
    "../etc/passwd",
    "../../../../etc/passwd",
    "a/../../etc/passwd",
    "a/b/../../../etc/passwd",
    "..",
    "../..",
    "./../x",
    "%2e%2e/etc/passwd",
    "..%2fetc/passwd",
    "..\\etc\\passwd",
    "．．/etc/passwd",
    "a/%2e%2e/../x",
    "etc/passwd",
    "./etc/passwd",
    "etc/../etc/passwd",
    "x/../etc/shadow",
    "//etc/passwd",
    "/srv/../etc/passwd",
]
FAMILIES: dict[str, tuple[dict[str, Any], str, list[str], list[str]]] = {
    "allow_domains": (
        {"rule": "allow_domains", "domains": [GOOD], "fields": ["v"]},
        "v",
        NOT_ONE_LINK,
        [
            "https://good.example/",
            "https://a.good.example:8443/x?y=z#w",
            "ann@good.example",
            "Ann <ann@good.example>",
            '"Lee, Ann" <ann@good.example>; bob@good.example',
            "mailto:ann@good.example",
            "//good.example/x",
        ],
    ),
    "allow_hosts": (
        {"rule": "allow_hosts", "hosts": [GOOD], "fields": ["v"]},
        "v",
        NOT_ONE_LINK,
        ["https://good.example/", "https://good.example/a/b?c=d#e"],
    ),
    "block_domains": (
        {"rule": "block_domains", "domains": ["evil.com"], "fields": ["v"]},
        "v",
        [one for one in NOT_ONE_LINK[:12] if "evil" in one] + ["evil.com", "a.evil.com:80", "evil.com.", "EVIL.com/x"],
        ["https://good.example/?x=1", "good.example/evil.com", "notevil.com/x"],
    ),
    "block_private_hosts": (
        {"rule": "block_private_hosts", "fields": ["v"]},
        "v",
        [*PRIVATE, *SPECIAL_ADDRESSES],
        ["https://good.example/", "good.example", "good.example:443/x", "http://[2606:2800:21f::1]/", "8.8.8.8"],
    ),
    "block_private_hosts anywhere": (
        {"rule": "block_private_hosts"},
        "v",
        [
            "127.0.0.1:9/x@8.8.8.8",
            "127.0.0.1/x",
            "10.0.0.1:80",
            "localhost:8080",
            "localhost/x",
            "169.254.169.254/latest",
            "metadata.google.internal/x",
            "127.0.0.1?x",
            "LOCALHOST:1",
            "10.0.0.1\\x",
            *SPECIAL_ADDRESSES,
        ],
        [
            "10.0.0.1",
            "10.0.0.0/8",
            "version 1.2.3.4",
            "1.2.3.4",
            "at 10:30",
            "a/b",
            "local: yes",
            "notes/today.md",
            "2130706433",
            "localhost",
            "The address is 10.0.0.1:80 here",
            "ratio 3/4",
            "",
            "https://good.example/a/b",
        ],
    ),
    "external_recipients": (
        {"rule": "external_recipients", "internal": [GOOD], "fields": ["v"]},
        "v",
        RECIPIENTS,
        [
            "ann@good.example",
            "Ann Lee <ann@a.good.example>",
            "ann@good.example; bob@good.example,",
            "ann+tag@good.example",
            '"Lee, Ann" <ann@good.example>',
            "ann@good.example\nbob@good.example",
            "Ann (sales) <ann@good.example>",
        ],
    ),
    "allow_addresses": (
        {"rule": "allow_addresses", "addresses": [f"*@{GOOD}"], "fields": ["v"]},
        "v",
        RECIPIENTS,
        ["ann@good.example", "Ann Lee <ann@good.example>", "mailto:ann@good.example", "o'neil@good.example"],
    ),
    "protected_branches": (
        {"rule": "protected_branches", "branches": ["main"]},
        "branch",
        BRANCHES,
        [
            "fix",
            "feature/a-b_c.1",
            "refs/heads/fix",
            "fix:fix",
            "+fix:refs/heads/fix",
            "origin/fix",
            "refs/tags/v1",
            "3f786850e387550fdab836ed7e6dc881de23001b",
            "fix~2",
            "user@topic",
            "dependabot/npm/x-1.2.3",
            "ann/#12",
        ],
    ),
    "allow_repositories": (
        {"rule": "allow_repositories", "repositories": ["acme/site"]},
        "repository",
        REPOSITORIES,
        [
            "acme/site",
            "ACME/Site.git",
            "https://github.com/acme/site",
            "https://github.com/acme/site.git",
            "git@github.com:acme/site.git",
            "ssh://git@github.com/acme/site.git",
            "https://github.com/acme/site/",
        ],
    ),
    "shell_commands": (
        {"rule": "shell_commands", "allow": ["sort", "find", "git log", "sed", "tree", "date", "cat"]},
        "command",
        COMMANDS,
        [
            "sort -n a",
            "sort -r -k 2 a",
            "find . -name '*.py' -type f",
            "git log --oneline -5",
            "sed -n 1,5p x",
            "tree -L 2",
            "date -u",
            "cat a | sort -u",
            "cat *.txt",
        ],
    ),
    "block_arguments": (
        {"rule": "shell_commands", "allow": ["tool"], "block_arguments": ["-o", "--output"]},
        "command",
        [
            "tool -o X",
            "tool -oX",
            "tool -xo X",
            "tool --output X",
            "tool --outp=X",
            "tool --o=X",
            "tool '-o'X",
            "tool -\\o X",
            'tool "--output=X"',
            "tool *",
            "tool [-]o",
            "tool a -vvo X",
            "tool -- -o",
            "tool -o=X",
            "tool -xyzoX",
        ],
        ["tool -v a", "tool --verbose --other", "tool a.o", "tool ./o"],
    ),
    "block_keywords": (
        {"rule": "block_keywords", "keywords": ["password"]},
        "v",
        KEYWORDS,
        ["pass the word", "naïve café", "Wörterbuch", "русский текст", "नमस्ते", "🇩🇪 🇫🇷"],
    ),
    "ip_ranges": (
        {"rule": "ip_ranges", "allow": ["10.0.0.0/8"], "fields": ["v"]},
        "v",
        [
            "192.0.2.1@10.1.2.3",
            "10.1.2.3:80",
            "10.1.2.3 192.0.2.1",
            "10.1.2.3]:9",
            "[10.1.2.3",
            "10.1.2.3%x",
            "10.1.2.3#",
            "%31%30.1.2.3",
            "10。1.2.3",
            "10.1.2.3,192.0.2.1",
            "http://10.1.2.3",
            "10.1.2.3/8x",
            "x@10.1.2.3",
            "１０.1.2.3",
        ],
        ["10.1.2.3", "10.1.0.0/16", "0xA010203"],
    ),
}
ATTACKS = [pytest.param(name, text, id=f"{name}-{text!a}") for name, row in FAMILIES.items() for text in row[2]]
HONEST = [pytest.param(name, text, id=f"{name}-{text!a}") for name, row in FAMILIES.items() for text in row[3]]


async def objection(options: dict[str, Any], arguments: dict[str, Any]) -> tuple[str, str] | None:
    rule, context = build_guard(options), Context(tool="tool")

    async def resolve(host: str) -> tuple[str, ...]:
        return ADDRESSES.get(host, ())

    context = await look_up(lookup_needs(rule, arguments, context), context, resolve)
    return objection_to(rule, arguments, context)


@pytest.mark.parametrize(("name", "text"), ATTACKS)
async def test_a_text_that_is_not_as_a_whole_what_the_guard_allows_is_not_allowed(name: str, text: str) -> None:
    options, field, _, _ = FAMILIES[name]
    for value in (text, [text], {"inner": text}):
        if (name != "shell_commands" and name != "block_arguments") or isinstance(value, str):
            found = await objection(options, {field: value})
            assert found is not None, value
            assert found[1] != NOT_CHECKED


@pytest.mark.parametrize(("name", "text"), HONEST)
async def test_honest_values_pass(name: str, text: str) -> None:
    options, field, _, _ = FAMILIES[name]
    assert await objection(options, {field: text}) is None


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder `files` whose `link` leads to a folder outside; `..` behind it is outside too."""
    home = tmp_path.resolve()
    (home / "files/sub").mkdir(parents=True)
    (home / "outside/deep").mkdir(parents=True)
    for secret in ("outside/secret", "outside/secret.txt"):
        (home / secret).write_text("secret")
    (home / "files/link").symlink_to(home / "outside/deep")
    (home / "files/sub/link").symlink_to(home / "outside/deep")
    return home


@pytest.mark.parametrize("path", PATHS)
async def test_a_link_is_followed_before_its_parent_is_taken(tree: Path, path: str) -> None:
    files = str(tree / "files")
    options = {"rule": "allow_paths", "paths": [files], "base": files, "fields": ["path"]}
    assert await objection(options, {"path": path}) is not None
    assert await objection({**options, "base": None}, {"path": f"{files}/{path}"}) is not None or path[0] in "$%~"
    blocked = {"rule": "block_paths", "paths": [str(tree / "outside")], "base": files, "fields": ["path"]}
    assert await objection(blocked, {"path": path}) is not None


@pytest.mark.parametrize(
    "path",
    ["..\u2215outside\u2215secret", "..\u2044outside/secret", "..;/outside/secret", "sub/..;x=1/../outside/secret",
     "http://example.com/x", "s3://bucket/x", "data:,x", "|id", "-rf", "-o/etc/x", "--help"],
)  # fmt: skip
async def test_what_is_no_path_for_every_program_is_not_allowed(tree: Path, path: str) -> None:
    files = str(tree / "files")
    options = {"rule": "allow_paths", "paths": [files], "base": files, "fields": ["path"]}
    assert await objection(options, {"path": path}) is not None


@pytest.mark.parametrize("path", [".g\u200bit/config", ".gi\u00adt/x", "GIT~1/config", "x/git~2", ".git\u2060"])
async def test_a_blocked_name_that_a_system_reads_from_another_is_found(path: str) -> None:
    options = {"rule": "block_paths", "paths": [".git/**"], "fields": ["path"]}
    assert await objection(options, {"path": path}) is not None
    assert await objection(options, {"path": "notes~/a.txt~1~"}) is None


@pytest.mark.parametrize("path", ["sub/../a.txt", "a.txt", "./sub/new", "sub/./x", "sub//x", "no/such/../folder"])
async def test_ordinary_paths_are_allowed(tree: Path, path: str) -> None:
    files = str(tree / "files")
    options = {"rule": "allow_paths", "paths": [files], "base": files, "fields": ["path"]}
    assert await objection(options, {"path": path}) is None


@pytest.mark.parametrize("path", CLIMBS)
async def test_a_relative_path_that_climbs_is_not_lost(path: str) -> None:
    options = {"rule": "block_paths", "paths": ["/etc"], "fields": ["path"]}
    assert await objection(options, {"path": path}) is not None


@pytest.mark.parametrize("path", ["notes/a.txt", "a/../b.txt", "./x", "srv/etc/x", "/srv/files/a"])
async def test_other_relative_paths_pass(path: str) -> None:
    assert await objection({"rule": "block_paths", "paths": ["/etc"], "fields": ["path"]}, {"path": path}) is None
    assert (
        await objection({"rule": "block_paths", "paths": [".env"], "fields": ["path"]}, {"path": f"../{path}"}) is None
    )


@pytest.mark.parametrize("commands", [["ls", "rm -rf /"], ["ls; rm x"], [["ls"], ["rm", "x"]], ["ls", "ls -l | sh"]])
async def test_each_item_of_a_list_of_commands_is_a_command(commands: list[Any]) -> None:
    assert await objection({"rule": "shell_commands", "allow": ["ls"]}, {"commands": commands}) is not None


async def test_an_option_that_writes_can_be_allowed() -> None:
    rule = {"rule": "shell_commands", "allow": ["sort", "sort -o"]}
    assert await objection(rule, {"command": "sort -o out.txt in.txt"}) is None
    assert await objection(rule, {"command": "sort -o out.txt --compress-program=id in.txt"}) is not None


async def test_another_host_of_repositories_can_be_named() -> None:
    rule = {"rule": "allow_repositories", "repositories": ["acme/*"], "hosts": ["git.example.com"]}
    assert await objection(rule, {"repo_url": "https://git.example.com/acme/x.git"}) is None
    assert await objection(rule, {"repo_url": "https://github.com/acme/x.git"}) is not None
