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


def _run(alphabet: str, least: int, most: int | None = None) -> str:
    """Match a run of given length; with a maximum, not followed by more of the same word."""
    return f"{alphabet}{{{least},}}" if most is None else f"{alphabet}{{{least},{most}}}(?!{_WORD})"


def _exactly(alphabet: str, *lengths: int) -> str:
    """Match a run of one of the lengths, given in ascending order."""
    return "|".join(f"{alphabet}{{{length}}}" for length in reversed(lengths))


_SHAPES = (
    # kind, signs, and the rest of the key
    # Models
    ("anthropic key", "sk-ant-", _run(_WORD, 16)),
    ("openrouter key", "sk-or-v1-", _run(_HEX, 40)),
    ("langfuse key", "sk-lf-", _run("[0-9A-Fa-f-]", 30)),
    ("openai key", "sk-proj-|sk-svcacct-|sk-admin-", _run(_WORD, 20)),
    # CSS class names may start like this; they have hyphens and no digits.
    ("openai key", "sk-", rf"(?=[A-Za-z]{{0,40}}[0-9]){_ALNUM}{{32,}}(?!{_WORD})"),
    ("hugging face token", "hf_|api_org_", _run(_ALNUM, 30)),
    ("replicate token", "r8_", _run(_ALNUM, 30)),
    ("groq key", "gsk_", _run(_ALNUM, 40)),
    ("xai key", "xai-", _run(_ALNUM, 60)),
    ("perplexity key", "pplx-", _run(_ALNUM, 40)),
    ("pinecone key", "pcsk_", _run("[A-Za-z0-9_]", 40)),
    ("langsmith key", "lsv2_pt_|lsv2_sk_", _run("[0-9A-Fa-f_]", 32)),
    ("tavily key", "tvly-", _run(_WORD, 28)),
    ("firecrawl key", "fc-", _run(_HEX, 32)),
    ("nvidia key", "nvapi-", _run(_WORD, 40)),
    ("aws bedrock key", "ABSK", _run(_BASE64, 100)),
    ("aws bedrock key", "bedrock-api-key-", _run("[A-Za-z0-9+/=_-]", 20)),
    # Code and packages
    ("github token", "ghp_|gho_|ghu_|ghs_|ghr_", _run(_ALNUM, 30)),
    ("github token", "github_pat_", _run("[A-Za-z0-9_]", 22)),
    (
        "gitlab token",
        "glpat-|gldt-|glrt-|glcbt-|glptt-|glft-|glffct-|glimt-|glagent-|gloas-|glsoat-|GR1348941",
        _run(_WORD, 20),
    ),
    ("gitlab session", "_gitlab_session=", _run(_HEX, 32)),
    ("bitbucket token", "ATBB", _run(_ALNUM, 28)),
    ("atlassian token", "ATATT3", _run("[A-Za-z0-9_=-]", 40)),
    ("sourcegraph token", "sgp_", _run(_WORD, 40)),
    ("sourcegraph token", "slk_", _run(_HEX, 64)),
    ("sonar token", "squ_|sqp_|sqa_", _run(_ALNUM, 40)),
    ("npm token", "npm_", _run(_ALNUM, 36)),
    ("pypi token", "pypi-A", _run(_WORD, 40)),
    ("rubygems key", "rubygems_", _run(_HEX, 48)),
    ("clojars token", "CLOJARS_", _run(_ALNUM, 60)),
    ("crates.io token", "cio", _run(_ALNUM, 32, 32)),
    ("artifactory key", "AKCp", _run(_ALNUM, 69, 69)),
    ("artifactory token", "cmVmd", _run(_ALNUM, 59)),
    ("docker token", "dckr_pat_|dckr_oat_", _run(_WORD, 20)),
    ("readme key", "rdme_", _run(_LOWER, 70)),
    ("postman key", "PMAK-", _run("[0-9A-Fa-f-]", 59)),
    ("buildkite token", "bkua_", _run(_ALNUM, 40)),
    ("circleci token", "CCIPAT_|CCIPRJ_", _run("[A-Za-z0-9_]", 40)),
    ("octopus deploy key", "API-", _run(_UPPER, 26, 26)),
    ("harness token", "pat.|sat.", r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    ("linear key", "lin_api_", _run(_ALNUM, 40)),
    ("linear token", "lin_oauth_", _run(_ALNUM, 40)),
    ("figma token", "figd_", _run(_WORD, 40)),
    ("notion token", "ntn_", _run(_ALNUM, 40)),
    ("notion token", "secret_", _run(_ALNUM, 43, 43)),
    ("airtable token", "pat", rf"{_ALNUM}{{14}}\.{_HEX}{{64}}"),
    ("contentful token", "CFPAT-", _run(_WORD, 40)),
    ("frame.io token", "fio-u-", _run(_WORD, 60)),
    ("typeform token", "tfp_", _run("[A-Za-z0-9_.=-]", 40)),
    ("expo token", "expo_", _run(_WORD, 36)),
    # Clouds
    ("aws key id", "AKIA|ASIA|ABIA|ACCA", rf"{_UPPER}{{16}}(?!{_WORD})"),
    ("aws key id", "A3T", rf"{_UPPER}{{17}}(?!{_WORD})"),
    ("google key", "AIza", rf"{_WORD}{{35}}(?!{_WORD})"),
    ("google token", "ya29.", _run(_WORD, 20)),
    ("google secret", "GOCSPX-", _run(_WORD, 24)),
    ("google refresh token", "1//0", _run(_WORD, 40)),
    ("alibaba key id", "LTAI", _run(_ALNUM, 16, 24)),
    ("tencent key id", "AKID", _run(_ALNUM, 32, 36)),
    ("digitalocean token", "dop_v1_|doo_v1_|dor_v1_", _run(_HEX, 60)),
    ("databricks token", "dapi", _run(_HEX, 32)),
    ("heroku key", "HRKU-AA", _run(_WORD, 40)),
    ("fly.io token", "fo1_", _run(_WORD, 40)),
    ("fly.io token", "fm1_|fm1a_|fm1r_|fm2_", _run("[A-Za-z0-9+/=_-]", 80)),
    ("cloudflare origin key", "v1.0-", _run("[0-9A-Fa-f-]", 100)),
    ("scalingo token", "tk-us-", _run(_WORD, 40)),
    ("pulumi token", "pul-", _run(_HEX, 40)),
    ("prefect token", "pnu_", _run(_ALNUM, 36)),
    ("vault token", "hvs.|hvb.|hvr.", _run(_WORD, 60)),
    ("vault token", "s.", rf"(?=[A-Za-z]{{0,23}}[0-9]){_ALNUM}{{24}}(?!{_WORD})"),
    ("openshift token", "sha256~", _run(_WORD, 43)),
    ("doppler token", "dp.pt.|dp.sa.", _run(_ALNUM, 40)),
    ("doppler token", "dp.st.", _run(r"[A-Za-z0-9._-]", 40)),
    ("infracost key", "ico-", _run(_ALNUM, 32)),
    ("tailscale key", "tskey-", _run(_WORD, 20)),
    ("defined networking token", "dnkey-", _run(_WORD, 50)),
    ("render key", "rnd_", _run(_ALNUM, 24)),
    ("supabase token", "sbp_", _run(_HEX, 40)),
    ("supabase key", "sb_secret_", _run(_WORD, 22)),
    ("neon key", "napi_", _run(_LOWER, 40)),
    ("planetscale token", "pscale_", r"(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}"),
    ("clickhouse key", "4b1d", _run(_ALNUM, 38, 38)),
    ("settlemint token", "sm_", r"(?:aat|pat|sat)_[A-Za-z0-9]{16,}"),
    ("endor labs token", "endr+", _run(_WORD, 16)),
    ("age key", "AGE-SECRET-KEY-1", _run("[0-9A-Z]", 50)),
    ("1password token", "ops_eyJ", _run("[A-Za-z0-9+/=_-]", 100)),
    (
        "1password key",
        "A3-",
        r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
    ),
    ("authress key", "sc_|ext_|scauth_|authress_", _AUTHRESS),
    # A whole part of a manifest: its fields may have any name.
    ("kubernetes secret", "data:|stringData:", rf"{_FIELDS}{_BREAK}kind: Secret\b"),
    (
        "kubernetes secret",
        "kind: Secret",
        rf"(?:{_BREAK}(?!---|kind:){_LINE}{{0,500}}){{0,20}}?{_BREAK}(?:stringD|d)ata:{_FIELDS}",
    ),
    ("private key", "LS0tLS1CRUdJTi", _run("[A-Za-z0-9+/=]", 40)),
    ("password", 'key="Password" value="|key="ClearTextPassword" value="', r"[^\"\n]{8,200}"),
    # Messages
    ("slack token", "xox", r"[abeoprs]-(?=[A-Za-z-]{0,20}[0-9])[A-Za-z0-9-]{10,}"),
    ("slack token", "xoxe.xox", r"[bp]-[A-Za-z0-9-]{20,}"),
    ("slack token", "xapp-", r"[0-9]-[A-Za-z0-9-]{10,}"),
    ("slack webhook", "hooks.slack.com/", r"(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}"),
    ("teams webhook", "webhook.office.com/webhookb2/", r"[A-Za-z0-9@/-]{60,}"),
    (
        "discord webhook",
        "discord.com/api/webhooks/|discordapp.com/api/webhooks/",
        r"[0-9]{15,22}/[A-Za-z0-9_-]{40,}",
    ),
    ("zapier webhook", "hooks.zapier.com/hooks/catch/", r"[0-9]{4,}/[A-Za-z0-9]{5,}"),
    ("sendgrid key", "SG.", r"[A-Za-z0-9_=-]{20,30}\.[A-Za-z0-9_=-]{38,50}"),
    ("sendinblue key", "xkeysib-|xsmtpsib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    ("mailgun key", "key-|pubkey-", _run(_HEX, 32, 32)),
    ("twilio key", "SK", _run(_HEX, 32, 32)),
    ("resend key", "re_", rf"{_ALNUM}{{6,12}}_{_ALNUM}{{20,28}}(?!{_WORD})"),
    ("beamer key", "b_", r"[a-z0-9=_-]{44}"),
    ("nylas key", "nyk_v0_", _run(_ALNUM, 40)),
    # Money
    ("stripe key", "sk_live_|sk_test_|sk_prod_|rk_live_|rk_test_|rk_prod_", _run(_ALNUM, 10)),
    ("stripe webhook secret", "whsec_", _run(_BASE64, 24)),
    ("square token", "EAAA", _run(_WORD, 22, 60)),
    ("square token", "sq0atp-", _run(_WORD, 22)),
    ("square secret", "sq0csp-", _run(_WORD, 43)),
    ("shopify token", "shpat_|shpca_|shppa_", _run(_HEX, 32)),
    ("shopify secret", "shpss_", _run(_HEX, 32)),
    ("shippo token", "shippo_live_|shippo_test_", _run(_HEX, 40)),
    ("easypost key", "EZAK|EZTK", _run(_ALNUM, 54)),
    ("duffel token", "duffel_test_|duffel_live_", _run("[A-Za-z0-9_=-]", 43)),
    ("flutterwave key", "FLWSECK_TEST-|FLWPUBK_TEST-", _run("[A-Za-z0-9]", 12)),
    ("flutterwave key", "FLWSECK-", _run("[A-Za-z0-9-]", 32)),
    ("plaid token", "access-", rf"(?:sandbox|development|production)-{_UUID}"),
    ("lob key", "live_|test_", _run(_HEX, 35, 35)),
    ("lob key", "test_pub_|live_pub_", _run(_HEX, 31, 31)),
    # Watching
    ("new relic key", "NRAK-", _run(_UPPER, 27)),
    ("new relic key", "NRJS-", _run(_HEX, 19)),
    ("new relic key", "NRII-", _run(_WORD, 32)),
    ("new relic key", "NRSP-", _run(_ALNUM, 32)),
    ("dynatrace token", "dt0c01.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("grafana token", "glsa_", _run("[A-Za-z0-9_]", 40)),
    ("grafana token", "glc_", _run("[A-Za-z0-9+/=]", 32)),
    ("grafana key", "eyJrIjoi", _run("[A-Za-z0-9+/=]", 60)),
    ("sentry token", "sntryu_", _run(_HEX, 64)),
    ("sentry token", "sntrys_eyJ", _run("[A-Za-z0-9+/=_]", 60)),
    ("posthog key", "phx_", _run(_ALNUM, 40)),
    ("launchdarkly key", "sdk-|api-", _UUID),
    # Others
    ("adobe secret", "p8e-", _run(_ALNUM, 32)),
    ("dropbox token", "sl.", _run("[A-Za-z0-9_=-]", 130)),
    ("facebook token", "EAAM|EAAC|EAAG", _run(_ALNUM, 80)),
    ("mapbox token", "pk.|sk.", r"[A-Za-z0-9]{60,400}\.[A-Za-z0-9_-]{22}(?![A-Za-z0-9])"),
    ("intra42 secret", "s-s4t2", r"(?:ud|af)-[0-9a-f]{64}"),
    ("yandex key", "AQVN", _run(_WORD, 35, 38)),
    ("yandex token", "t1.", r"[A-Z0-9a-z_-]{20,}=?=?\.[A-Za-z0-9_-]{86}={0,2}"),
    ("yandex key", "YC", _run(_WORD, 38, 38)),
    ("web token", "eyJ", _JWT),
    ("web token", "ZXlK", r"[A-Za-z0-9+/=_-]{80,}"),
    ("private key", "-----BEGIN ", _PEM),
)
SHAPES = (
    *(Shape(kind, sign, rest) for kind, signs, rest in _SHAPES for sign in signs.split("|")),
    Shape(
        "azure secret",
        "Q~",
        r"[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])",
        "[A-Za-z0-9_~.-]{3}[0-9]",
        4,
    ),
    Shape("terraform token", ".atlasv1.", r"[A-Za-z0-9_=-]{60,70}", f"{_ALNUM}{{14}}", 14),
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
    Shape("mailchimp key", "-us", r"[0-9]{1,2}(?![A-Za-z0-9])", f"{_HEX}{{32}}", 32),
    Shape("maxmind key", "_mmk", rf"(?!{_WORD})", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}", 36),
)

_NAMED = (
    # kinds that begin with their name, and the value
    (
        (
            "adobe key, airbrake key, asana secret, azure key, bittrex key, brave key, codecov "
            "token, drone token, elevenlabs key, mistral key, pagerduty key, shodan key"
        ),
        _exactly(_ALNUM, 32),
    ),
    ("adafruit key", _exactly("[a-z0-9_-]", 32)),
    ("algolia key", _exactly(_LOWER, 32)),
    ("airtable key", _exactly(_ALNUM, 17)),
    ("alibaba secret", _exactly(_ALNUM, 30)),
    ("artifactory key, jfrog key", _exactly(_ALNUM, 64, 73)),
    ("atlassian token, confluence token, jira token, looker key", _exactly(_ALNUM, 20, 24)),
    ("beamer key", _exactly(_ALNUM, 44)),
    ("beamer key", "b_[A-Za-z0-9=_-]{44}"),
    ("bitbucket secret", _exactly("[A-Za-z0-9=_-]", 32, 64)),
    (
        (
            "bugsnag key, facebook secret, finicity key, linear secret, mixpanel secret, rollbar "
            "token, spotify secret, twilio token"
        ),
        _exactly(_HEX, 32),
    ),
    ("circleci token, sendbird token, wandb key", _exactly(_HEX, 40)),
    ("cloudflare key", _exactly(_WORD, 37, 40)),
    ("cloudinary secret", _exactly(_WORD, 27)),
    (
        (
            "codecov token, heroku key, hubspot key, kucoin secret, opsgenie key, sauce labs key, "
            "sendbird id, snyk token, squarespace token"
        ),
        _UUID,
    ),
    ("coinbase token", _exactly("[a-z0-9_-]", 64)),
    ("cohere key, firebase key, sonar token", _exactly(_ALNUM, 40)),
    ("confluent key", _exactly(_ALNUM, 16, 64)),
    ("contentful token", _exactly(_WORD, 43)),
    ("datadog key", _exactly(_LOWER, 32, 40)),
    ("digitalocean key, discord key, sentry token, trello token", _exactly(_HEX, 64)),
    ("discord token", r"[A-Za-z0-9_-]{24,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}"),
    ("discord secret", _exactly(_WORD, 32)),
    ("dropbox secret", _exactly(_LOWER, 15)),
    ("dropbox token", r"[a-z0-9]{11}AAAAAAAAAA[a-zA-Z0-9_=-]{43}"),
    ("etsy key", _exactly(_LOWER, 24)),
    ("facebook token", "[0-9]{15,16}[|%][A-Za-z0-9_-]{27,40}"),
    ("fastly token, nytimes key", _exactly("[A-Za-z0-9=_-]", 32)),
    ("finicity secret, freshdesk key", _exactly(_ALNUM, 20)),
    ("finnhub token", _exactly(_ALNUM, 20, 40)),
    ("flickr key", _exactly(_HEX, 16, 32)),
    ("freemius secret", r"sk_[A-Za-z0-9]{29}"),
    ("freshbooks token, zendesk secret", _exactly(_ALNUM, 64)),
    ("gitter token", _exactly("[a-z0-9_-]", 40)),
    ("gocardless token", r"live_[A-Za-z0-9_=-]{40}"),
    ("harvest token", r"[0-9]{5,8}\.pt\.[A-Za-z0-9_-]{80,120}"),
    ("honeycomb key", _exactly(_ALNUM, 22, 32)),
    ("hubspot token", r"pat-[a-z]{2}[0-9]-[0-9a-f-]{36}"),
    ("intercom key", _exactly("[A-Za-z0-9=_-]", 60)),
    ("kraken key", "[A-Za-z0-9/=_+-]{80,90}|[A-Za-z0-9/=_+-]{56}"),
    ("kucoin token", _exactly(_HEX, 24)),
    ("launchdarkly token", _exactly("[a-z0-9=_-]", 40)),
    ("mapbox token", r"(?:pk|sk)\.[A-Za-z0-9]{60,}\.[A-Za-z0-9_-]{22}"),
    ("mattermost token", _exactly(_LOWER, 26)),
    ("mailgun key", r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}"),
    ("netlify token", "[A-Za-z0-9=_-]{40,46}"),
    ("new relic key", _exactly(_LOWER, 40, 64)),
    ("okta token", r"00[A-Za-z0-9=_-]{40}"),
    ("pingdom key", _exactly(_WORD, 64, 86)),
    ("plaid secret", _exactly(_ALNUM, 24, 30)),
    ("rapidapi key", _exactly(_WORD, 50)),
    ("telegram token", r"[0-9]{5,16}:A[A-Za-z0-9_-]{34}"),
    ("travis token", _exactly(_ALNUM, 22)),
    ("trello token", _exactly("[A-Za-z0-9-]", 32)),
    ("twitch token", _exactly(_LOWER, 30)),
    ("twitter key", _exactly(_ALNUM, 25)),
    ("twitter secret", _exactly(_ALNUM, 45, 50)),
    ("twitter token", r"A{22}[A-Za-z0-9%]{80,100}"),
    ("twitter token", r"[0-9]{15,25}-[A-Za-z0-9]{20,45}"),
    ("vercel token", _exactly(_ALNUM, 24)),
    ("yandex secret", _exactly(_WORD, 38, 40)),
    ("zendesk secret", _exactly(_LOWER, 40)),
)
NAMED = (
    *(
        Named("password", name, r"[^\s\"'`\\\[\](){}<>|&;,$]{8,100}")
        for name in ("creds", "pwd", "db-pass", "mysql-pass", "pg-pass", "smtp-pass", "ssh-pass")
    ),
    Named("cisco meraki key", "meraki", _exactly(_HEX, 40)),
    Named("facebook token", "access-token", "[0-9]{15,16}[|%][A-Za-z0-9_-]{27,40}"),
    *(Named("jfrog key", name, _exactly(_ALNUM, 64, 73)) for name in ("bintray", "xray")),
    Named("linkedin secret", "linked-in", _exactly(_ALNUM, 14, 16)),
    Named("messagebird token", "message-bird", _exactly(_ALNUM, 25)),
    Named("messagebird key", "message-bird", _UUID),
    Named("nytimes key", "new-york-times", _exactly("[A-Za-z0-9=_-]", 32)),
    Named("privateai key", "private-ai", _exactly(_LOWER, 32)),
    *(
        Named("sidekiq secret", name, r"[a-f0-9]{8}:[a-f0-9]{8}")
        for name in ("bundle-enterprise-contribsys-com", "bundle-gems-contribsys-com")
    ),
    Named("sumologic token", "sumo", _exactly(_ALNUM, 64)),
    Named("sumologic id", "sumo", "su[A-Za-z0-9]{12}"),
    *(
        Named(kind, kind.rpartition(" ")[0].replace(" ", "-"), value)
        for kinds, value in _NAMED
        for kind in kinds.split(", ")
    ),
)
