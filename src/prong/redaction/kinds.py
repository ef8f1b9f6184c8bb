"""Patterns of the secrets that `prong.redaction.secrets` masks, as documented by their vendors.

There are two tables. A key with a distinctive prefix is recognized anywhere. A key that is just a
number of letters and digits is recognized by the name before it: `datadog_app: 3f...`.

No pattern looks ahead an unbounded number of characters, or continues after an unbounded run.
"""

from typing import NamedTuple

_ALNUM = "[A-Za-z0-9]"
_LOWER = "[a-z0-9]"
_UPPER = "[A-Z0-9]"
_HEX = "[0-9A-Fa-f]"
_WORD = "[A-Za-z0-9_-]"
_BASE64 = "[A-Za-z0-9+/]"
_BREAK = r"(?:\n|\\{1,3}n)"
_LINE = r"(?:[^\n\\]|\\(?!\\{0,2}n))"
_FIELDS = rf"(?:{_BREAK}[ \t]+[\w.-]+:{_LINE}{{0,20000}}){{1,50}}"
_AUTHRESS = (
    rf"{_ALNUM}{{5,30}}\.{_LOWER}{{4,6}}\.acc[_-]{_WORD}{{10,32}}\.[A-Za-z0-9+/_=-]{{30,120}}"
)
_UUID = f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"

CUT = "(?=\u2026|\\Z)"
"""Where a text was shortened: after a distinctive prefix, the rest of a key is masked, too."""


class Shape(NamedTuple):
    """A secret with a distinctive prefix."""

    kind: str
    sign: str
    """Plain text at the beginning of every such key."""
    rest: str
    """Pattern of what follows the sign."""
    before: str = ""
    """Pattern, of fixed length, of what belongs to the key before the sign."""
    length: int = 0
    """Length of the part before the sign."""


class Named(NamedTuple):
    """A secret that is recognized by the name before it."""

    kind: str
    name: str
    """In lower case; `_`, `-` or nothing may separate its words: `new-relic`."""
    value: str


_PEM = (
    # Up to its end marker, or as much as there is, never across other dashes. The lookahead
    # prevents backtracking, like `{0,20000}+`, which Python before 3.11.5 gets wrong here.
    r"[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
    r"(?=(?:[^-]|-(?!----)){0,400}?[A-Za-z0-9+/=]{40})"
    r"(?:(?=(?P<body>(?:[^-]|-(?!----)){0,20000}))(?P=body)"
    r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
    r"|(?:[A-Za-z0-9+/=\s:,]|\\[nr]|-(?!----))+)"
)
_JWT = (
    # No hyphen before it either, so that only one position in a long run is tried.
    rf"(?<!-eyJ){_WORD}{{8,400}}(?:\.eyJ{_WORD}{{8,}}\.{_WORD}*|(?:\.{_WORD}*)?{CUT})"
)


def _of(kind: str, sign: str, alphabet: str, least: int, most: int | None = None) -> Shape:
    """Build a key of a given length, not followed by more of the same word."""
    count = f"{{{least},{'' if most is None else most}}}"
    return Shape(kind, sign, f"{alphabet}{count}" + ("" if most is None else f"(?!{_WORD})"))


def _exactly(kind: str, sign: str, alphabet: str, length: int) -> Shape:
    return _of(kind, sign, alphabet, length, length)


SHAPES = (
    # Models
    _of("anthropic key", "sk-ant-", _WORD, 16),
    _of("openrouter key", "sk-or-v1-", _HEX, 40),
    _of("langfuse key", "sk-lf-", "[0-9A-Fa-f-]", 30),
    *(_of("openai key", one, _WORD, 20) for one in ("sk-proj-", "sk-svcacct-", "sk-admin-")),
    # CSS class names may start like this; they have hyphens and no digits.
    Shape("openai key", "sk-", rf"(?=[A-Za-z]{{0,40}}[0-9]){_ALNUM}{{32,}}(?!{_WORD})"),
    *(_of("hugging face token", one, _ALNUM, 30) for one in ("hf_", "api_org_")),
    _of("replicate token", "r8_", _ALNUM, 30),
    _of("groq key", "gsk_", _ALNUM, 40),
    _of("xai key", "xai-", _ALNUM, 60),
    _of("perplexity key", "pplx-", _ALNUM, 40),
    _of("pinecone key", "pcsk_", "[A-Za-z0-9_]", 40),
    *(_of("langsmith key", one, "[0-9A-Fa-f_]", 32) for one in ("lsv2_pt_", "lsv2_sk_")),
    _of("tavily key", "tvly-", _WORD, 28),
    _of("firecrawl key", "fc-", _HEX, 32),
    _of("nvidia key", "nvapi-", _WORD, 40),
    _of("aws bedrock key", "ABSK", _BASE64, 100),
    _of("aws bedrock key", "bedrock-api-key-", "[A-Za-z0-9+/=_-]", 20),
    # Code and packages
    *(_of("github token", one, _ALNUM, 30) for one in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    _of("github token", "github_pat_", "[A-Za-z0-9_]", 22),
    *(
        _of("gitlab token", f"gl{one}-", _WORD, 20)
        for one in ("pat", "dt", "rt", "cbt", "ptt", "ft", "ffct", "imt", "agent", "oas", "soat")
    ),
    _of("gitlab token", "GR1348941", _WORD, 20),
    _of("gitlab session", "_gitlab_session=", _HEX, 32),
    _of("bitbucket token", "ATBB", _ALNUM, 28),
    _of("atlassian token", "ATATT3", "[A-Za-z0-9_=-]", 40),
    _of("sourcegraph token", "sgp_", _WORD, 40),
    _of("sourcegraph token", "slk_", _HEX, 64),
    *(_of("sonar token", one, _ALNUM, 40) for one in ("squ_", "sqp_", "sqa_")),
    _of("npm token", "npm_", _ALNUM, 36),
    _of("pypi token", "pypi-A", _WORD, 40),
    _of("rubygems key", "rubygems_", _HEX, 48),
    _of("clojars token", "CLOJARS_", _ALNUM, 60),
    _exactly("crates.io token", "cio", _ALNUM, 32),
    _exactly("artifactory key", "AKCp", _ALNUM, 69),
    _of("artifactory token", "cmVmd", _ALNUM, 59),
    *(_of("docker token", one, _WORD, 20) for one in ("dckr_pat_", "dckr_oat_")),
    _of("readme key", "rdme_", _LOWER, 70),
    _of("postman key", "PMAK-", "[0-9A-Fa-f-]", 59),
    _of("buildkite token", "bkua_", _ALNUM, 40),
    *(_of("circleci token", one, "[A-Za-z0-9_]", 40) for one in ("CCIPAT_", "CCIPRJ_")),
    _exactly("octopus deploy key", "API-", _UPPER, 26),
    Shape("harness token", "pat.", r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    Shape("harness token", "sat.", r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    _of("linear key", "lin_api_", _ALNUM, 40),
    _of("linear token", "lin_oauth_", _ALNUM, 40),
    _of("figma token", "figd_", _WORD, 40),
    _of("notion token", "ntn_", _ALNUM, 40),
    _exactly("notion token", "secret_", _ALNUM, 43),
    Shape("airtable token", "pat", rf"{_ALNUM}{{14}}\.{_HEX}{{64}}"),
    _of("contentful token", "CFPAT-", _WORD, 40),
    _of("frame.io token", "fio-u-", _WORD, 60),
    _of("typeform token", "tfp_", "[A-Za-z0-9_.=-]", 40),
    _of("expo token", "expo_", _WORD, 36),
    # Clouds
    *(
        Shape("aws key id", one, rf"{_UPPER}{{16}}(?!{_WORD})")
        for one in ("AKIA", "ASIA", "ABIA", "ACCA")
    ),
    Shape("aws key id", "A3T", rf"{_UPPER}{{17}}(?!{_WORD})"),
    Shape("google key", "AIza", rf"{_WORD}{{35}}(?!{_WORD})"),
    _of("google token", "ya29.", _WORD, 20),
    _of("google secret", "GOCSPX-", _WORD, 24),
    _of("google refresh token", "1//0", _WORD, 40),
    Shape(
        "azure secret",
        "Q~",
        r"[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])",
        "[A-Za-z0-9_~.-]{3}[0-9]",
        4,
    ),
    _of("alibaba key id", "LTAI", _ALNUM, 16, 24),
    _of("tencent key id", "AKID", _ALNUM, 32, 36),
    *(_of("digitalocean token", one, _HEX, 60) for one in ("dop_v1_", "doo_v1_", "dor_v1_")),
    _of("databricks token", "dapi", _HEX, 32),
    _of("heroku key", "HRKU-AA", _WORD, 40),
    _of("fly.io token", "fo1_", _WORD, 40),
    _of("fly.io token", "fm1_", "[A-Za-z0-9+/=_-]", 80),
    _of("fly.io token", "fm1a_", "[A-Za-z0-9+/=_-]", 80),
    _of("fly.io token", "fm1r_", "[A-Za-z0-9+/=_-]", 80),
    _of("fly.io token", "fm2_", "[A-Za-z0-9+/=_-]", 80),
    _of("cloudflare origin key", "v1.0-", "[0-9A-Fa-f-]", 100),
    _of("scalingo token", "tk-us-", _WORD, 40),
    _of("pulumi token", "pul-", _HEX, 40),
    _of("prefect token", "pnu_", _ALNUM, 36),
    *(_of("vault token", one, _WORD, 60) for one in ("hvs.", "hvb.", "hvr.")),
    Shape("vault token", "s.", rf"(?=[A-Za-z]{{0,23}}[0-9]){_ALNUM}{{24}}(?!{_WORD})"),
    Shape("terraform token", ".atlasv1.", r"[A-Za-z0-9_=-]{60,70}", f"{_ALNUM}{{14}}", 14),
    _of("openshift token", "sha256~", _WORD, 43),
    _of("doppler token", "dp.pt.", _ALNUM, 40),
    _of("doppler token", "dp.st.", r"[A-Za-z0-9._-]", 40),
    _of("doppler token", "dp.sa.", _ALNUM, 40),
    _of("infracost key", "ico-", _ALNUM, 32),
    _of("tailscale key", "tskey-", _WORD, 20),
    _of("defined networking token", "dnkey-", _WORD, 50),
    _of("render key", "rnd_", _ALNUM, 24),
    _of("supabase token", "sbp_", _HEX, 40),
    _of("supabase key", "sb_secret_", _WORD, 22),
    _of("neon key", "napi_", _LOWER, 40),
    Shape("planetscale token", "pscale_", r"(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}"),
    _of("clickhouse key", "4b1d", _ALNUM, 38, 38),
    Shape("settlemint token", "sm_", r"(?:aat|pat|sat)_[A-Za-z0-9]{16,}"),
    _of("endor labs token", "endr+", _WORD, 16),
    _of("age key", "AGE-SECRET-KEY-1", "[0-9A-Z]", 50),
    _of("1password token", "ops_eyJ", "[A-Za-z0-9+/=_-]", 100),
    Shape(
        "1password key",
        "A3-",
        r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
    ),
    *(Shape("authress key", one, _AUTHRESS) for one in ("sc_", "ext_", "scauth_", "authress_")),
    # A whole part of a manifest: its fields may have any name.
    Shape("kubernetes secret", "data:", rf"{_FIELDS}{_BREAK}kind: Secret\b"),
    Shape("kubernetes secret", "stringData:", rf"{_FIELDS}{_BREAK}kind: Secret\b"),
    Shape(
        "kubernetes secret",
        "kind: Secret",
        rf"(?:{_BREAK}(?!---|kind:){_LINE}{{0,500}}){{0,20}}?{_BREAK}(?:stringD|d)ata:{_FIELDS}",
    ),
    _of("private key", "LS0tLS1CRUdJTi", "[A-Za-z0-9+/=]", 40),
    *(
        Shape("password", f'key="{one}" value="', r"[^\"\n]{8,200}")
        for one in ("Password", "ClearTextPassword")
    ),
    # Messages
    Shape("slack token", "xox", r"[abeoprs]-(?=[A-Za-z-]{0,20}[0-9])[A-Za-z0-9-]{10,}"),
    Shape("slack token", "xoxe.xox", r"[bp]-[A-Za-z0-9-]{20,}"),
    Shape("slack token", "xapp-", r"[0-9]-[A-Za-z0-9-]{10,}"),
    Shape(
        "slack webhook", "hooks.slack.com/", r"(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}"
    ),
    Shape("teams webhook", "webhook.office.com/webhookb2/", r"[A-Za-z0-9@/-]{60,}"),
    Shape("discord webhook", "discord.com/api/webhooks/", r"[0-9]{15,22}/[A-Za-z0-9_-]{40,}"),
    Shape("discord webhook", "discordapp.com/api/webhooks/", r"[0-9]{15,22}/[A-Za-z0-9_-]{40,}"),
    Shape("zapier webhook", "hooks.zapier.com/hooks/catch/", r"[0-9]{4,}/[A-Za-z0-9]{5,}"),
    # The bot number has 8 to 10 digits; in URLs, `bot` precedes it.
    *(
        Shape(
            "telegram token",
            ":AA",
            rf"{_WORD}{{32,33}}(?!{_WORD})",
            f"{word}[0-9]{{{digits}}}",
            digits + len(word),
        )
        for word in ("", "bot")
        for digits in (8, 9, 10)
    ),
    Shape("sendgrid key", "SG.", r"[A-Za-z0-9_=-]{20,30}\.[A-Za-z0-9_=-]{38,50}"),
    Shape("sendinblue key", "xkeysib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    Shape("sendinblue key", "xsmtpsib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    *(_exactly("mailgun key", one, _HEX, 32) for one in ("key-", "pubkey-")),
    Shape("mailchimp key", "-us", r"[0-9]{1,2}(?![A-Za-z0-9])", f"{_HEX}{{32}}", 32),
    _exactly("twilio key", "SK", _HEX, 32),
    Shape("resend key", "re_", rf"{_ALNUM}{{6,12}}_{_ALNUM}{{20,28}}(?!{_WORD})"),
    Shape("beamer key", "b_", r"[a-z0-9=_-]{44}"),
    _of("nylas key", "nyk_v0_", _ALNUM, 40),
    # Money
    *(
        _of("stripe key", f"{kind}_{mode}_", _ALNUM, 10)
        for kind in ("sk", "rk")
        for mode in ("live", "test", "prod")
    ),
    _of("stripe webhook secret", "whsec_", _BASE64, 24),
    _of("square token", "EAAA", _WORD, 22, 60),
    _of("square token", "sq0atp-", _WORD, 22),
    _of("square secret", "sq0csp-", _WORD, 43),
    *(_of("shopify token", one, _HEX, 32) for one in ("shpat_", "shpca_", "shppa_")),
    _of("shopify secret", "shpss_", _HEX, 32),
    *(_of("shippo token", one, _HEX, 40) for one in ("shippo_live_", "shippo_test_")),
    *(_of("easypost key", one, _ALNUM, 54) for one in ("EZAK", "EZTK")),
    *(_of("duffel token", one, "[A-Za-z0-9_=-]", 43) for one in ("duffel_test_", "duffel_live_")),
    *(_of("flutterwave key", one, "[A-Za-z0-9]", 12) for one in ("FLWSECK_TEST-", "FLWPUBK_TEST-")),
    _of("flutterwave key", "FLWSECK-", "[A-Za-z0-9-]", 32),
    Shape("plaid token", "access-", rf"(?:sandbox|development|production)-{_UUID}"),
    *(_exactly("lob key", one, _HEX, 35) for one in ("live_", "test_")),
    *(_exactly("lob key", one, _HEX, 31) for one in ("test_pub_", "live_pub_")),
    # Watching
    _of("new relic key", "NRAK-", _UPPER, 27),
    _of("new relic key", "NRJS-", _HEX, 19),
    _of("new relic key", "NRII-", _WORD, 32),
    _of("new relic key", "NRSP-", _ALNUM, 32),
    Shape("dynatrace token", "dt0c01.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _of("grafana token", "glsa_", "[A-Za-z0-9_]", 40),
    _of("grafana token", "glc_", "[A-Za-z0-9+/=]", 32),
    _of("grafana key", "eyJrIjoi", "[A-Za-z0-9+/=]", 60),
    _of("sentry token", "sntryu_", _HEX, 64),
    _of("sentry token", "sntrys_eyJ", "[A-Za-z0-9+/=_]", 60),
    _of("posthog key", "phx_", _ALNUM, 40),
    *(Shape("launchdarkly key", one, _UUID) for one in ("sdk-", "api-")),
    # Others
    _of("adobe secret", "p8e-", _ALNUM, 32),
    _of("dropbox token", "sl.", "[A-Za-z0-9_=-]", 130),
    *(_of("facebook token", one, _ALNUM, 80) for one in ("EAAM", "EAAC", "EAAG")),
    Shape("mapbox token", "pk.", r"[A-Za-z0-9]{60,400}\.[A-Za-z0-9_-]{22}(?![A-Za-z0-9])"),
    Shape("mapbox token", "sk.", r"[A-Za-z0-9]{60,400}\.[A-Za-z0-9_-]{22}(?![A-Za-z0-9])"),
    Shape("intra42 secret", "s-s4t2", r"(?:ud|af)-[0-9a-f]{64}"),
    Shape("maxmind key", "_mmk", rf"(?!{_WORD})", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}", 36),
    _of("yandex key", "AQVN", _WORD, 35, 38),
    Shape("yandex token", "t1.", r"[A-Z0-9a-z_-]{20,}=?=?\.[A-Za-z0-9_-]{86}={0,2}"),
    _of("yandex key", "YC", _WORD, 38, 38),
    Shape("web token", "eyJ", _JWT),
    Shape("web token", "ZXlK", r"[A-Za-z0-9+/=_-]{80,}"),
    Shape("private key", "-----BEGIN ", _PEM),
)


def _named(kind: str, name: str, alphabet: str, *lengths: int) -> Named:
    """Build a key of any of the lengths; without lengths, `alphabet` is the whole pattern."""
    values = [f"{alphabet}{{{length}}}" for length in lengths] or [alphabet]
    return Named(kind, name, "|".join(reversed(values)))


NAMED = (
    *(
        Named("password", one, r"[^\s\"'`\\\[\](){}<>|&;,$]{8,100}")
        for one in ("creds", "pwd", "db-pass", "mysql-pass", "pg-pass", "smtp-pass", "ssh-pass")
    ),
    *(
        _named(f"{name} key", name, _ALNUM, 32)
        for name in ("adobe", "azure", "mistral", "elevenlabs", "pagerduty", "brave", "airbrake")
    ),
    *(_named(f"{one} key", one, _ALNUM, 32) for one in ("bittrex", "shodan")),
    _named("adafruit key", "adafruit", "[a-z0-9_-]", 32),
    _named("algolia key", "algolia", _LOWER, 32),
    _named("airtable key", "airtable", _ALNUM, 17),
    _named("alibaba secret", "alibaba", _ALNUM, 30),
    _named("artifactory key", "artifactory", _ALNUM, 64, 73),
    _named("asana secret", "asana", _ALNUM, 32),
    *(_named(f"{one} token", one, _ALNUM, 20, 24) for one in ("atlassian", "confluence", "jira")),
    _named("beamer key", "beamer", _ALNUM, 44),
    _named("beamer key", "beamer", "b_[A-Za-z0-9=_-]{44}"),
    _named("bitbucket secret", "bitbucket", "[A-Za-z0-9=_-]", 32, 64),
    *(_named(f"{one} key", one, _HEX, 32) for one in ("bugsnag", "finicity")),
    *(_named(f"{one} token", one, _HEX, 40) for one in ("circleci", "sendbird")),
    _named("cisco meraki key", "meraki", _HEX, 40),
    _named("cloudflare key", "cloudflare", _WORD, 37, 40),
    _named("cloudinary secret", "cloudinary", _WORD, 27),
    *(_named(f"{one} token", one, _ALNUM, 32) for one in ("codecov", "drone")),
    *(_named(f"{one} token", one, _UUID) for one in ("codecov", "snyk", "squarespace")),
    _named("coinbase token", "coinbase", "[a-z0-9_-]", 64),
    *(_named(f"{one} key", one, _ALNUM, 40) for one in ("cohere", "firebase")),
    _named("confluent key", "confluent", _ALNUM, 16, 64),
    _named("contentful token", "contentful", _WORD, 43),
    _named("datadog key", "datadog", _LOWER, 32, 40),
    *(_named(f"{one} key", one, _HEX, 64) for one in ("digitalocean", "discord")),
    _named(
        "discord token", "discord", r"[A-Za-z0-9_-]{24,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}"
    ),
    _named("discord secret", "discord", _WORD, 32),
    _named("dropbox secret", "dropbox", _LOWER, 15),
    _named("dropbox token", "dropbox", r"[a-z0-9]{11}AAAAAAAAAA[a-zA-Z0-9_=-]{43}"),
    _named("etsy key", "etsy", _LOWER, 24),
    _named("facebook secret", "facebook", _HEX, 32),
    *(
        _named("facebook token", name, "[0-9]{15,16}[|%][A-Za-z0-9_-]{27,40}")
        for name in ("facebook", "access-token")
    ),
    _named("fastly token", "fastly", "[A-Za-z0-9=_-]", 32),
    _named("finicity secret", "finicity", _ALNUM, 20),
    _named("finnhub token", "finnhub", _ALNUM, 20, 40),
    _named("flickr key", "flickr", _HEX, 16, 32),
    _named("freemius secret", "freemius", r"sk_[A-Za-z0-9]{29}"),
    _named("freshbooks token", "freshbooks", _ALNUM, 64),
    _named("freshdesk key", "freshdesk", _ALNUM, 20),
    _named("gitter token", "gitter", "[a-z0-9_-]", 40),
    _named("gocardless token", "gocardless", r"live_[A-Za-z0-9_=-]{40}"),
    _named("harvest token", "harvest", r"[0-9]{5,8}\.pt\.[A-Za-z0-9_-]{80,120}"),
    *(_named(f"{one} key", one, _UUID) for one in ("heroku", "hubspot", "opsgenie")),
    _named("honeycomb key", "honeycomb", _ALNUM, 22, 32),
    _named("hubspot token", "hubspot", r"pat-[a-z]{2}[0-9]-[0-9a-f-]{36}"),
    _named("intercom key", "intercom", "[A-Za-z0-9=_-]", 60),
    *(_named("jfrog key", name, _ALNUM, 64, 73) for name in ("jfrog", "bintray", "xray")),
    _named("kraken key", "kraken", "[A-Za-z0-9/=_+-]{80,90}|[A-Za-z0-9/=_+-]{56}"),
    _named("kucoin token", "kucoin", _HEX, 24),
    _named("kucoin secret", "kucoin", _UUID),
    _named("launchdarkly token", "launchdarkly", "[a-z0-9=_-]", 40),
    _named("linear secret", "linear", _HEX, 32),
    _named("linkedin secret", "linked-in", _ALNUM, 14, 16),
    _named("looker key", "looker", _ALNUM, 20, 24),
    _named("mapbox token", "mapbox", r"(?:pk|sk)\.[A-Za-z0-9]{60,}\.[A-Za-z0-9_-]{22}"),
    _named("mattermost token", "mattermost", _LOWER, 26),
    _named("messagebird token", "message-bird", _ALNUM, 25),
    _named("messagebird key", "message-bird", _UUID),
    _named("mailgun key", "mailgun", r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}"),
    _named("mixpanel secret", "mixpanel", _HEX, 32),
    _named("netlify token", "netlify", "[A-Za-z0-9=_-]{40,46}"),
    _named("new relic key", "new-relic", _LOWER, 40, 64),
    *(_named("nytimes key", name, "[A-Za-z0-9=_-]", 32) for name in ("nytimes", "new-york-times")),
    _named("okta token", "okta", r"00[A-Za-z0-9=_-]{40}"),
    _named("pingdom key", "pingdom", _WORD, 64, 86),
    _named("plaid secret", "plaid", _ALNUM, 24, 30),
    _named("privateai key", "private-ai", _LOWER, 32),
    _named("rapidapi key", "rapidapi", _WORD, 50),
    *(_named(f"{one} token", one, _HEX, 32) for one in ("rollbar", "twilio")),
    _named("sauce labs key", "sauce-labs", _UUID),
    _named("sendbird id", "sendbird", _UUID),
    *(_named(f"{one} token", one, _HEX, 64) for one in ("sentry", "trello")),
    _named("sidekiq secret", "bundle-enterprise-contribsys-com", r"[a-f0-9]{8}:[a-f0-9]{8}"),
    _named("sidekiq secret", "bundle-gems-contribsys-com", r"[a-f0-9]{8}:[a-f0-9]{8}"),
    _named("sonar token", "sonar", _ALNUM, 40),
    _named("spotify secret", "spotify", _HEX, 32),
    _named("sumologic token", "sumo", _ALNUM, 64),
    _named("sumologic id", "sumo", "su[A-Za-z0-9]{12}"),
    _named("telegram token", "telegram", r"[0-9]{5,16}:A[A-Za-z0-9_-]{34}"),
    _named("travis token", "travis", _ALNUM, 22),
    _named("trello token", "trello", "[A-Za-z0-9-]", 32),
    _named("twitch token", "twitch", _LOWER, 30),
    _named("twitter key", "twitter", _ALNUM, 25),
    _named("twitter secret", "twitter", _ALNUM, 45, 50),
    _named("twitter token", "twitter", r"A{22}[A-Za-z0-9%]{80,100}"),
    _named("twitter token", "twitter", r"[0-9]{15,25}-[A-Za-z0-9]{20,45}"),
    _named("vercel token", "vercel", _ALNUM, 24),
    _named("wandb key", "wandb", _HEX, 40),
    _named("yandex secret", "yandex", _WORD, 38, 40),
    _named("zendesk secret", "zendesk", _LOWER, 40),
    _named("zendesk secret", "zendesk", _ALNUM, 64),
)
