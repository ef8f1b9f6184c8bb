"""Made-up keys, one of each kind that prong masks.

A row is a template: `{a36}` is 36 letters and digits, `{h32}` hexadecimal ones (`{H32}` capital),
`{l..}` small ones, `{u..}` capital ones, `{w..}` with `-` and `_`, `{b..}` of base64, `{d..}`
digits. Only what is in braces is secret. The keys are put together when the tests run, so that no
scanner takes this file for a leak; the same row always gives the same key.
"""

import random
import re
import string
from dataclasses import dataclass

_HEX = "0123456789abcdef"
_ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "h": _HEX,
    "H": _HEX.upper(),
    "l": string.ascii_lowercase + string.digits,
    "u": string.ascii_uppercase + string.digits,
    "w": string.ascii_letters + string.digits + "-_",
    "b": string.ascii_letters + string.digits + "+/",
    "d": string.digits,
}
_UUID = "{h8}-{h4}-{h4}-{h4}-{h12}"
_SHAPED = f"""
sk-ant-api03-{{w80}}
sk-ant-admin01-{{w80}}
sk-or-v1-{{h64}}
sk-lf-{_UUID}
sk-proj-{{w60}}
sk-svcacct-{{w60}}
sk-admin-{{w60}}
sk-{{a48}}
hf_{{a34}}
api_org_{{a34}}
r8_{{a37}}
gsk_{{a52}}
xai-{{a80}}
pplx-{{a48}}
pcsk_{{a60}}
lsv2_pt_{{h32}}_{{h10}}
lsv2_sk_{{h32}}_{{h10}}
tvly-{{a32}}
fc-{{h32}}
nvapi-{{w64}}
ABSK{{b110}}
bedrock-api-key-{{a40}}
ghp_{{a36}}
gho_{{a36}}
ghu_{{a36}}
ghs_{{a36}}
ghr_{{a36}}
github_pat_{{a22}}_{{a59}}
glpat-{{w20}}
gldt-{{w20}}
glrt-{{w20}}
glcbt-{{w22}}
glptt-{{h40}}
glft-{{w20}}
glffct-{{w20}}
glimt-{{w25}}
glagent-{{w50}}
gloas-{{h64}}
glsoat-{{w20}}
GR1348941{{w20}}
_gitlab_session={{h32}}
ATBB{{a32}}
ATATT3{{a180}}
sgp_{{h40}}
slk_{{h64}}
squ_{{h40}}
sqp_{{h40}}
sqa_{{h40}}
npm_{{a36}}
pypi-AgEIcHlwaS5vcmc{{w60}}
rubygems_{{h48}}
CLOJARS_{{a60}}
cio{{a32}}
AKCp{{a69}}
cmVmd{{a59}}
dckr_pat_{{w27}}
dckr_oat_{{w32}}
rdme_{{l70}}
PMAK-{{h24}}-{{h34}}
bkua_{{h40}}
CCIPAT_{{a22}}_{{h40}}
CCIPRJ_{{a22}}_{{h40}}
API-{{u26}}
pat.{{w22}}.{{h24}}.{{a20}}
sat.{{w22}}.{{h24}}.{{a20}}
lin_api_{{a40}}
lin_oauth_{{h64}}
figd_{{w43}}
ntn_{{a46}}
secret_{{a43}}
pat{{a14}}.{{h64}}
CFPAT-{{w43}}
fio-u-{{w64}}
tfp_{{w59}}
expo_{{w40}}
AKIA{{u16}}
ASIA{{u16}}
ABIA{{u16}}
ACCA{{u16}}
AIza{{w35}}
ya29.{{w80}}
GOCSPX-{{w28}}
1//0{{w60}}
{{a3}}8Q~{{a34}}
LTAI{{a20}}
AKID{{a32}}
dop_v1_{{h64}}
doo_v1_{{h64}}
dor_v1_{{h64}}
dapi{{h32}}
HRKU-AA{{w58}}
fo1_{{w43}}
fm1_{{a100}}
fm1r_{{a100}}
fm2_{{a100}}
v1.0-{{h24}}-{{h146}}
tk-us-{{w48}}
pul-{{h40}}
pnu_{{a36}}
hvs.{{w95}}
hvb.{{w140}}
hvr.{{w95}}
{{a14}}.atlasv1.{{a67}}
sha256~{{w43}}
dp.pt.{{a43}}
dp.st.dev.{{a43}}
dp.sa.{{a43}}
ico-{{a32}}
tskey-auth-{{a12}}-{{a32}}
dnkey-{{w26}}-{{w52}}
rnd_{{a28}}
sbp_{{h40}}
sb_secret_{{w31}}
napi_{{l64}}
pscale_tkn_{{w43}}
pscale_pw_{{w43}}
pscale_oauth_{{w43}}
4b1d{{a38}}
sm_aat_{{a16}}
sm_pat_{{a16}}
sm_sat_{{a16}}
endr+{{w16}}
AGE-SECRET-KEY-1{{u58}}
ops_eyJ{{a250}}
A3-{{u6}}-{{u11}}-{{u5}}-{{u5}}-{{u5}}
A3-{{u6}}-{{u6}}-{{u5}}-{{u5}}-{{u5}}-{{u5}}
xoxb-{{d12}}-{{d12}}-{{a24}}
xoxp-{{d12}}-{{d12}}-{{d12}}-{{h32}}
xoxe-1-{{a146}}
xoxe.xoxp-1-{{a160}}
xapp-1-{{u11}}-{{d13}}-{{h64}}
https://hooks.slack.com/services/T{{u10}}/B{{u10}}/{{a24}}
https://hooks.slack.com/workflows/T{{u10}}/A{{u10}}/{{d18}}/{{a24}}
https://acme.webhook.office.com/webhookb2/{_UUID}@{_UUID}/IncomingWebhook/{{h32}}/{_UUID}
https://discord.com/api/webhooks/{{d18}}/{{w68}}
https://discordapp.com/api/webhooks/{{d18}}/{{w68}}
https://hooks.zapier.com/hooks/catch/{{d8}}/{{l10}}
{{d8}}:AA{{w33}}
{{d10}}:AA{{w33}}
https://api.telegram.org/bot{{d9}}:AA{{w33}}/getMe
curl -u admin:{{a20}} https://localhost
curl -s -u admin:{{a20}} https://localhost
curl -X POST --user 'admin:{{a20}}' https://localhost
SG.{{w22}}.{{w43}}
xkeysib-{{h64}}-{{a16}}
xsmtpsib-{{h64}}-{{a16}}
key-{{h32}}
pubkey-{{h32}}
{{h32}}-us20
SK{{h32}}
re_{{a8}}_{{a24}}
b_{{l44}}
nyk_v0_{{a64}}
sk_live_{{a24}}
sk_test_{{a24}}
sk_prod_{{a24}}
rk_live_{{a24}}
rk_test_{{a24}}
rk_prod_{{a24}}
whsec_{{b32}}
EAAA{{w60}}
sq0atp-{{w22}}
sq0csp-{{w43}}
shpat_{{h32}}
shpca_{{h32}}
shppa_{{h32}}
shpss_{{h32}}
shippo_live_{{h40}}
shippo_test_{{h40}}
EZAK{{a54}}
EZTK{{a54}}
duffel_test_{{w43}}
duffel_live_{{w43}}
FLWSECK_TEST-{{h12}}
FLWPUBK_TEST-{{h32}}
FLWSECK-{{h32}}-X
access-sandbox-{_UUID}
access-production-{_UUID}
live_{{h35}}
test_{{h35}}
test_pub_{{h31}}
live_pub_{{h31}}
NRAK-{{u27}}
NRJS-{{h19}}
NRII-{{w32}}
NRSP-{{a32}}
dt0c01.{{u24}}.{{u64}}
glsa_{{a32}}_{{h8}}
glc_{{b60}}
eyJrIjoi{{a80}}
sntryu_{{h64}}
sntrys_eyJ{{a100}}
phx_{{a43}}
sdk-{_UUID}
api-{_UUID}
p8e-{{a32}}
sl.{{w140}}
EAAM{{a120}}
EAAC{{a120}}
EAAG{{a120}}
pk.{{a60}}.{{a22}}
sk.{{a60}}.{{a22}}
s-s4t2ud-{{h64}}
s-s4t2af-{{h64}}
{{a6}}_{{a29}}_mmk
AQVN{{w35}}
t1.{{w43}}.{{w86}}
YC{{w38}}
eyJ{{a33}}.eyJ{{a60}}.{{w43}}
ZXlK{{a120}}
sc_{{l20}}.{{l5}}.acc_{{l16}}.{{l60}}
ext_{{l20}}.{{l5}}.acc_{{l16}}.{{l60}}
scauth_{{l20}}.{{l5}}.acc_{{l16}}.{{l60}}
authress_{{l20}}.{{l5}}.acc-{{l16}}.{{l60}}
A3T{{u17}}
fm1a_{{a100}}
pat.{{w22}}.{{a24}}.{{a20}}
s.{{a24}}
sgp_{{h16}}_{{H40}}
EAAA{{a40}}
sk_live_{{a12}}
shpat_{{H32}}
shippo_live_{{H40}}
SK{{H32}}
LS0tLS1CRUdJTi{{b60}}
<add key="Password" value="{{a16}}" />
<add key="ClearTextPassword" value="{{a16}}" />
curl -X POST https://localhost -u admin:{{a20}}
curl -sSL -u "admin:{{a20}}" https://localhost
curl --user=admin:{{a20}} https://localhost
Authorization: {{a40}}
Authorization: ApiKey {{a40}}
-----BEGIN RSA PRIVATE KEY-----\\n{{b64}}\\n{{b64}}\\n{{b64}}\\n-----END RSA PRIVATE KEY-----
-----BEGIN PGP PRIVATE KEY BLOCK-----\\n{{b64}}\\n{{b64}}\\n-----END PGP PRIVATE KEY BLOCK-----
"""
_NAMED = f"""
adafruit {{l32}}
adobe {{a32}}
airbrake {{a32}}
airtable {{a17}}
algolia {{l32}}
alibaba {{a30}}
artifactory {{a73}}
asana {{a32}}
atlassian {{a24}}
azure {{a32}}
beamer {{a44}}
beamer b_{{w44}}
bitbucket {{a32}}
bittrex {{a32}}
brave {{a32}}
bugsnag {{h32}}
bundle_enterprise__contribsys__com {{h8}}:{{h8}}
bundle_gems__contribsys__com {{h8}}:{{h8}}
circleci {{h40}}
cisco_meraki {{h40}}
cloudflare {{h37}}
cloudinary {{w27}}
codecov {{a32}}
cohere {{a40}}
coinbase {{l64}}
confluence {{a24}}
confluent {{a64}}
contentful {{w43}}
datadog {{h32}}
datadog_app {{h40}}
digitalocean {{h64}}
discord {{a24}}.{{a6}}.{{w38}}
discord_bot {{h64}}
drone {{a32}}
dropbox {{l15}}
etsy {{l24}}
elevenlabs {{a32}}
facebook {{h32}}
fastly {{a32}}
finicity {{h32}}
finnhub {{l20}}
firebase {{a40}}
flickr {{h32}}
freemius sk_{{a29}}
freshbooks {{a64}}
freshdesk {{a20}}
gitter {{l40}}
gocardless live_{{a40}}
harvest {{d7}}.pt.{{a86}}
heroku {_UUID}
honeycomb {{a22}}
hubspot {_UUID}
hubspot_app pat-na1-{_UUID}
intercom {{a60}}
jfrog {{a73}}
jira {{a24}}
kraken {{a88}}
kucoin {{h24}}
launchdarkly {{l40}}
linear {{h32}}
linkedin {{a16}}
looker {{a24}}
mattermost {{l26}}
messagebird {{l25}}
mailgun {{h32}}-{{h8}}-{{h8}}
mistral {{a32}}
mixpanel {{h32}}
netlify {{a43}}
new-relic {{h40}}
nytimes {{a32}}
okta 00{{a40}}
opsgenie {_UUID}
pagerduty {{a32}}
pingdom {{a64}}
plaid {{h30}}
privateai {{l32}}
rapidapi {{a50}}
rollbar {{h32}}
sauce_labs {_UUID}
sendbird {{h40}}
sentry {{h64}}
shodan {{a32}}
snyk {_UUID}
sonar {{h40}}
spotify {{h32}}
squarespace {_UUID}
sumologic {{a64}}
telegram {{d10}}:A{{w34}}
travis {{a22}}
trello {{h64}}
twilio {{h32}}
twitch {{l30}}
twitter {{a45}}
vercel {{a24}}
wandb {{h40}}
yandex {{a40}}
zendesk {{h40}}
account-key {{a40}}
application_key {{a40}}
encryption_key {{h64}}
signing_key {{h64}}
creds {{a20}}
pwd {{a20}}
bintray {{l73}}
xray {{l64}}
linked_in {{a16}}
message_bird {{l25}}
private_ai {{l32}}
newyorktimes {{l32}}
sumo {{a64}}
sumo_access_id su{{a12}}
facebook_app {{d15}}|{{a30}}
access_token {{d15}}|{{a30}}
algolia {{u32}}
heroku {{H8}}-{{H4}}-{{H4}}-{{H4}}-{{H12}}
kraken {{a85}}
netlify {{a44}}
openweather_key {{h32}}
X-Key {{a40}}
WEATHER_API {{a32}}
_auth {{a40}}
db_pass {{a16}}
api_key {{a40}}
access_key {{a40}}
auth_key {{a40}}
private_key {{a40}}
client_secret {{a40}}
password {{a16}}
passphrase {{a20}}
refresh_token {{a40}}
credential {{a40}}
"""
_FRAMES = (
    *("{}={}", "{}: {}", '"{}": "{}"', '("{}", "{}")'),
    *("<{}>{}</x>", "export {}='{}'", "{} := {}"),
)
_HOLE = re.compile(r"\{([A-Za-z])(\d+)\}")


@dataclass(frozen=True)
class Key:
    row: str
    text: str
    """The key, and what it is known by."""
    pieces: tuple[str, ...]
    """Parts of it that nobody may read: of the long secret pieces, the middle."""


def _made(row: str, frame: str = "{}") -> Key:
    # A seed of its own for each row: one more row changes no other key.
    chance = random.Random(row + frame)
    pieces: list[str] = []

    def filled(hole: re.Match[str]) -> str:
        alphabet, count = _ALPHABETS[hole[1]], int(hole[2])
        made = "".join(chance.choices(alphabet, k=count))
        # Letters and digits in turns, at both ends neither a hyphen nor an underscore.
        kinds = alphabet
        letters = [one for one in kinds if one.isalpha()] or list(kinds)
        made = "".join(
            chance.choice(letters)
            if at % 4 == 0
            else chance.choice("23456789")
            if at % 4 == 1
            else c
            for at, c in enumerate(made)
        )
        if count > 2:
            made = f"{made[:-1]}{chance.choice(letters)}"
        pieces.append(made)
        return made

    text = frame.format(_HOLE.sub(filled, row)).replace("\\n", "\n")
    shown = tuple(one[2:-2] for one in pieces if len(one) >= 14)
    return Key(row, text, shown or (max(pieces, key=len),))


def _named(number: int, row: str) -> Key:
    name, _, value = row.partition(" ")
    frame = _FRAMES[number % len(_FRAMES)].replace("{}", name, 1)
    return _made(value, frame) if _HOLE.search(value) else _made(row)


MANIFESTS = tuple(
    _made(row)
    for row in (
        "data:\\n  tls.crt: {b40}\\n  host: {b40}\\nkind: Secret\\n",
        "stringData:\\n  host: {b40}\\nkind: Secret\\n",
        "kind: Secret\\nmetadata:\\n  name: db\\ndata:\\n  host: {b40}\\n  user: {b40}\\n",
    )
)
"""Each has several lines, so it is not recognized in a title."""
SHAPED = tuple(_made(row) for row in _SHAPED.strip().splitlines())
NAMED = tuple(_named(number, row) for number, row in enumerate(_NAMED.strip().splitlines()))
KEYS = (*SHAPED, *NAMED)


def leaked(text: str, keys: tuple[Key, ...] = KEYS) -> list[str]:
    """The keys of which a piece is in the text."""
    return [one.row for one in keys if any(piece in text for piece in one.pieces)]
