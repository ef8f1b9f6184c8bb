"""Sessions that were forked from each other, as far as their files tell."""

from collections.abc import Mapping

from prong.model import Session

Name = tuple[str, str]
"""Agent and id."""


def family_of(session: Session, sessions: Mapping[Name, Session]) -> Name:
    """The session at the root of the lineage."""
    name = (session.agent, session.id)
    seen = {name}
    while session.parent is not None:
        above = (session.parent.agent, session.parent.id)
        if above in seen or above not in sessions:
            break
        seen.add(above)
        name, session = above, sessions[above]
    return name
