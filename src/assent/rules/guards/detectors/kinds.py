"""All detectors by name: personal data, payment data, secrets."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable

from assent.rules.guards.detectors import checksums as check
from assent.rules.guards.detectors.detector import Detector

_PASSWORDS = (
    r"pass(?:word|wd|phrase|code|wort)|(?<![a-z])(?:pwd|pass)|(?:db|user|admin|root|mail|ftp|smtp|ssh|sql)(?:pwd|pass)"
)
_KEYS = (
    r"secret|token|credentials?"
    r"|(?:api|access|private|auth|signing|encryption|master|account|shared|secret|session|service|license|webhook)[_-]?key"
)
_SUFFIX = r"(?:[_-]?(?:key|base|value|prod|production|live|test|dev|staging|old|new|\d{1,3}))?"
# Behind the name: a sign, or the end of a tag.
_SIGN = r"[\"'`\]\\]{0,4}(?:\s{0,4}(?:=>|:=|[:=])\s{0,4}[\"'`\\]{0,4}|>)"
_OPTION = r"|(?<!\S)--?[a-z-]{0,30}(?:%s)\s{1,4}[\"']?(?!-)"
_SPOKEN = r"|\bidentified\s{1,4}by\s{1,4}'|\bpassword\s{1,4}'|\blogin\s\S{1,100}\s{1,4}password\s{1,4}"
_WORD = r"[^\s\"'`,;&<>\\]"
# In quotes, or without a blank. Letters alone count only where nothing follows: else they may be the next word.
_VALUE = (
    r"((?<=[\"'`])[^\"'`\r\n\\]{4,200}(?=[\"'`\\])"
    rf"|{_WORD}{{0,200}}[^\s\"'`,;&<>\\A-Za-z]{_WORD}{{0,200}}"
    r"|[A-Za-z]{4,200}(?=\s{0,4}(?:[\r\n\"'`,;&<>)\]}\\]|\Z)))"
)
PASSWORD = rf"(?:(?:{_PASSWORDS}){_SUFFIX}{_SIGN}{_OPTION % _PASSWORDS}{_SPOKEN}){_VALUE}"
NAMED_KEY = rf"(?:(?:{_KEYS}){_SUFFIX}{_SIGN}{_OPTION % _KEYS}){_VALUE}"
BASIC = r"\bbasic\s{1,4}([A-Za-z0-9+/_-]{6,4000}={0,2})"
COMMAND = r"(?<!\S)(?:-u|--user)[\s=]{1,4}[\"']?[^\s:\"']{1,100}:([^\s\"']{4,200})"
_BLANKS = r"your|my|the|an?|some|enter|insert|dummy|sample|placeholder|new|old|api|secret|access|auth|client|user|db"
_PLACEHOLDER = re.compile(
    r"[*.x\u2022_-]+|\$.*|<.*|\{.*|%.*|\[.*"
    rf"|(?:(?:{_BLANKS})[-_ ]?)*(?:password|passwd|pwd|token|key|secret|value|here)?(?:[-_ ]?here)?"
    r"|null|none|nil|true|false|undefined|required|optional|string|text|str|bytes|int|char|varchar|hidden|redacted"
    r"|masked|removed|empty|unknown|unset|missing|invalid|wrong|incorrect|expired|valid|changed|reset|yes|no|on|off"
    r"|basic|bearer|digest|type|default|env|file|prompt|input|hash(?:ed)?|bcrypt|sha\d*|md5|weak|strong|medium",
    re.IGNORECASE | re.DOTALL,
)
_EXPRESSION = re.compile(
    r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+[\[?]?|.*\w\(.*|[~/.\\].*|[A-Za-z]:[\\/].*|[a-z]+://.*", re.DOTALL
)


def is_password(value: str) -> bool:
    """Whether the text behind a password's name is one: not a placeholder, a path or a piece of a program."""
    plain = value.rstrip(".)]}!?:").strip()
    if " " in plain and all(word.strip(".,;:!?").isalpha() for word in plain.split()):
        return False  # A sentence, such as a label.
    return len(plain) >= 4 and not _PLACEHOLDER.fullmatch(plain) and not _EXPRESSION.fullmatch(plain)


def is_named_key(value: str) -> bool:
    """Whether the text behind the name of a key or token is one: longer than a word, and no number or date."""
    plain = value.rstrip(".)]}!?:")
    has_sign = any(not character.isalpha() for character in plain) or not (plain.islower() or plain.istitle())
    return is_password(plain) and len(plain) >= 8 and has_sign and not re.fullmatch(r"[\d.,:/T+Z-]{0,32}", plain)


def is_command_password(value: str) -> bool:
    """Whether what stands behind a name and a colon is a password, not a number of a group or a port."""
    return is_password(value) and not value.isdecimal()


def is_basic(value: str) -> bool:
    """Whether a text is a name and a password in base64."""
    packed = value.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return b":" in base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False


def _number(kind: str, label: str, pattern: str, checked: Callable[[str], bool], digits: int) -> Detector:
    """A number with a check digit that is not part of a longer number or word."""
    whole = re.compile(rf"(?<![\w.-])(?:{pattern})(?![\w-])(?!\.\d)", re.IGNORECASE)
    return Detector(kind, label, whole, checked, (), digits)


def _text(kind: str, label: str, pattern: str, *hints: str, flags: int = 0) -> Detector:
    """A text in a known format; one of the hints must be present."""
    return Detector(kind, label, re.compile(pattern, flags), None, hints)


def _token(kind: str, label: str, pattern: str, *hints: str, flags: int = 0) -> Detector:
    """A key or token in the format of its provider."""
    return Detector(kind, label, re.compile(pattern, flags), None, hints, is_token=True)


def _named_secret(kind: str, label: str, pattern: str, checked: Callable[[str], bool], *hints: str) -> Detector:
    """A secret that is known by the name in front of it."""
    return Detector(kind, label, re.compile(pattern, re.IGNORECASE), checked, hints)


def _by_kind(*detectors: Detector) -> dict[str, Detector]:
    return {one.kind: one for one in detectors}


_LOCAL = r"[\w!#$%&'*+/=?^`{|}~.-]{1,64}"
_AT = r"(?:@|%(?:25){0,3}40|&#0{0,5}64;|&#x0{0,5}40;|&commat;|\\u0040)"
_DOMAIN = r"(?:[\w-]{1,63}\.){1,8}(?:xn--[a-z0-9-]{2,59}|[^\W\d_]{2,24})(?![\w-])"
_PHONE = re.compile(
    r"(?<![\w.+-])(\+[1-9](?:[ ./()\-]{0,2}[0-9]){6,14}"
    r"|\(?[2-9][0-9]{2}\)?[ .-][2-9][0-9]{2}[ .-][0-9]{4})(?![\w-])"
)
_FRENCH = r"[12][ .-]?\d\d[ .-]?\d\d[ .-]?(?:\d\d|2[ab])[ .-]?\d{3}[ .-]?\d{3}[ .-]?\d\d"
PERSONAL = _by_kind(
    _text("email", "mail address", _LOCAL + _AT + _DOMAIN, "@", "40", "&", flags=re.IGNORECASE),
    Detector("phone", "phone number", _PHONE, digits=7),
    _number("us_ssn", "US social security number", r"\d{3}[ -]\d\d[ -]\d{4}", check.us_social_security, 9),
    _number("uk_nhs", "UK health number", r"\d{3}[ -]\d{3}[ -]\d{4}", check.uk_health, 10),
    _number("de_tax", "German tax number", r"\d\d ?\d{3} ?\d{3} ?\d{3}", check.german_tax, 11),
    _number("fr_nir", "French social security number", _FRENCH, check.french_insurance, 14),
    _number("es_dni", "Spanish identity number", r"(?:\d{8}|[xyz]\d{7})[ -]?[a-z]", check.spanish_identity, 7),
    _number("it_cf", "Italian tax code", r"[a-z]{6}\d\d[a-z]\d\d[a-z]\d{3}[a-z]", check.italian_tax, 7),
    _number(
        "nl_bsn", "Dutch citizen number", r"\d{4}[ .]\d\d[ .]\d{3}|\d{3}[ .]\d{3}[ .]\d{3}", check.dutch_citizen, 9
    ),
    _number("pl_pesel", "Polish citizen number", r"\d{11}", check.polish_citizen, 11),
    _number("se_pin", "Swedish personal number", r"(?:19|20)?\d{6}[-+]\d{4}", check.swedish_person, 10),
    _number("br_cpf", "Brazilian tax number", r"\d{3}\.\d{3}\.\d{3}-\d\d|\d{11}", check.brazilian_tax, 11),
    _number("in_aadhaar", "Indian identity number", r"[2-9]\d{3}[ -]?\d{4}[ -]?\d{4}", check.indian_identity, 12),
    _number("cn_id", "Chinese identity number", r"[1-9]\d{16}[\dx]", check.chinese_identity, 17),
)
_ACCOUNT = re.compile(r"(?<![\w-])[a-z]{2}\d\d(?:[ -]?[a-z0-9]){11,30}(?![\w-])", re.IGNORECASE)
PAYMENT = _by_kind(
    _number("card", "payment card", r"[2-6](?:[ .\-]?\d){12,18}", check.card, 13),
    Detector("iban", "bank account", _ACCOUNT, check.iban, (), 4),
)

_K = r"[A-Za-z0-9_\-]"
_A = r"[A-Za-z0-9]"
_PEM = (
    r"-----BEGIN[A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----(?:(?!-----END)[\s\S]){0,20000}"
    r"(?:-----END[A-Z0-9 ]{0,40}-----)?"
)
# Vault, Databricks, Shopify, Linear, Notion, Atlassian, Doppler, New Relic, Postman, PlanetScale, Pulumi, RubyGems,
# Sentry, Supabase, Terraform, Telegram, Docker, Grafana, Groq, Perplexity, xAI, Replicate, age, Assent.
_PROVIDERS = (
    rf"hv[sb]\.{_K}{{24,300}}|dapi[0-9a-f]{{32}}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{{32}}|lin_api_{_A}{{32,64}}"
    rf"|ntn_{_A}{{40,60}}|ATATT3{_K}{{50,300}}|dp\.(?:pt|st|ct|sa)\.{_K}{{32,60}}|NRAK-[A-Z0-9]{{27}}"
    rf"|PMAK-[0-9a-f]{{24}}-[0-9a-f]{{34}}|pscale_(?:tkn|oauth|pw)_[\w.-]{{32,64}}|pul-[0-9a-f]{{40}}"
    rf"|rubygems_[0-9a-f]{{48}}|sntry[su]_[\w=+/]{{40,300}}|sbp_[0-9a-f]{{40}}|{_A}{{14}}\.atlasv1\.{_K}{{60,70}}"
    rf"|\d{{8,10}}:AA{_K}{{33}}(?!\w)|dckr_pat_{_K}{{20,40}}|gl(?:sa|c)_[\w+/=]{{32,200}}|gsk_{_A}{{40,60}}"
    rf"|pplx-{_A}{{40,60}}|xai-{_A}{{60,90}}|r8_{_A}{{37}}|AGE-SECRET-KEY-1[0-9A-Z]{{58}}|assent_[0-9a-f]{{8}}_{_K}{{40,60}}"
)
_PROVIDER_HINTS = (
    *("hvs.", "hvb.", "dapi", "shp", "lin_api_", "ntn_", "atatt3", "dp.", "nrak-", "pmak-", "pscale_", "pul-", "sbp_"),
    *("rubygems_", "sntry", "atlasv1", ":aa", "dckr_pat_", "glsa_", "glc_", "gsk_", "pplx-", "xai-", "r8_", "age-s"),
    "assent_",
)
SECRETS = _by_kind(
    _text("private_key", "private key", _PEM, "private key"),
    _token("aws_key", "AWS key", r"(?<![A-Z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])", "ia", "acca"),
    _token("github_token", "GitHub token", rf"(?<!\w)gh[pousr]_{_A}{{36,255}}(?!\w)", "gh"),
    _token("github_pat", "GitHub token", r"(?<!\w)github_pat_[A-Za-z0-9_]{60,255}(?!\w)", "github_pat_"),
    _token("gitlab_token", "GitLab token", rf"(?<!\w)gl(?:pat|dt|ptt|rt|cbt|ft|soat)-{_K}{{20,60}}(?!\w)", "gl"),
    _token("slack_token", "Slack token", rf"(?<!\w)(?:xox[abeoprs]|xapp-\d)-{_K}{{10,250}}", "xox", "xapp-"),
    _token("slack_webhook", "Slack webhook", r"https://hooks\.slack\.com/\w{4,12}/[\w/-]{20,200}", "hooks.slack.com"),
    _token("google_key", "Google API key", rf"(?<!\w)AIza{_K}{{35}}(?![\w-])", "aiza"),
    _token(
        "google_oauth",
        "Google OAuth token",
        rf"(?<!\w)(?:ya29\.[\w\-.]{{20,500}}|GOCSPX-{_K}{{28}})",
        "ya29.",
        "gocspx-",
    ),
    _token("stripe_key", "Stripe key", rf"(?<!\w)(?:sk|rk)_(?:live|test)_{_A}{{16,250}}(?!\w)", "sk_", "rk_"),
    _token("webhook_secret", "webhook secret", r"(?<!\w)whsec_[A-Za-z0-9+/=]{24,100}", "whsec_"),
    _token("openai_key", "OpenAI key", rf"(?<!\w)sk-(?!ant-){_K}{{20,250}}(?![\w-])", "sk-"),
    _token("anthropic_key", "Anthropic key", rf"(?<!\w)sk-ant-{_K}{{20,250}}(?![\w-])", "sk-ant-"),
    _token("npm_token", "npm token", rf"(?<!\w)npm_{_A}{{36}}(?!\w)", "npm_"),
    _token("pypi_token", "PyPI token", rf"(?<!\w)pypi-{_K}{{50,300}}", "pypi-"),
    _token("sendgrid_key", "SendGrid key", rf"(?<!\w)SG\.{_K}{{22}}\.{_K}{{43}}(?![\w-])", "sg."),
    _token("twilio_key", "Twilio key", r"(?<!\w)(?:SK|AC)[0-9a-f]{32}(?!\w)", "sk", "ac"),
    _token("hugging_face_token", "Hugging Face token", rf"(?<!\w)hf_{_A}{{30,60}}(?!\w)", "hf_"),
    _token("digitalocean_token", "DigitalOcean token", r"(?<!\w)do[opr]_v1_[0-9a-f]{64}(?!\w)", "_v1_"),
    _token("provider_token", "token of a provider", rf"(?<!\w)(?:{_PROVIDERS})", *_PROVIDER_HINTS),
    _token("azure_key", "Azure storage key", r"AccountKey=([A-Za-z0-9+/]{86}==)", "accountkey="),
    _token("jwt", "signed token", rf"(?<![\w-])eyJ{_K}{{8,2000}}\.eyJ{_K}{{8,8000}}\.{_K}{{16,2000}}(?![\w-])", "eyj"),
    _token("bearer_token", "bearer token", r"\bbearer\s{1,4}([\w\-.=+/~]{16,4000})", "bearer", flags=re.IGNORECASE),
    _text("url_password", "password in a link", r"\b[a-zA-Z][\w+.-]{1,20}://[^\s:/@]{0,100}:([^\s:/@]{3,200})@", "://"),
    _named_secret("basic_auth", "name and password", BASIC, is_basic, "basic"),
    _named_secret("command_password", "password in a command", COMMAND, is_command_password, "-u ", "--user"),
    _named_secret("password", "password", PASSWORD, is_password, "pass", "pwd", "identified"),
    _named_secret("named_key", "named key", NAMED_KEY, is_named_key, "secret", "token", "key", "credential"),
)
