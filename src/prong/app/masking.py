"""Keys and tokens in what a search found, masked."""

from prong.hits import Hit, SearchResult
from prong.record import replace
from prong.secrets import mask_passage
from prong.visible import safe


def masked(result: SearchResult) -> SearchResult:
    """The same hits; nothing in their passages, prompts and titles is a secret any more."""
    return replace(result, hits=tuple(_masked(hit) for hit in result.hits))


def _masked(hit: Hit) -> Hit:
    turn = hit.turn and replace(hit.turn, prompt=safe(hit.turn.prompt))
    session = hit.session and replace(hit.session, title=safe(hit.session.title))
    return replace(hit, turn=turn, session=session, passage=mask_passage(hit.passage))
