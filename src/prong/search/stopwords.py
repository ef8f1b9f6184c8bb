"""English words that say nothing about what is looked for.

A query without them is faster, and a vague one finds a little more. They stay in the index: a
query that has no other words goes by them.
"""

_WORDS = """
a about am an and any are as at be been being but by can could did do does for from had has have he
her him his how i if in into is it its just me my no not of on or our she should so some such than
that the their them then there these they this to too us very was we were what when where which who
why will with would you your
"""
STOP_WORDS = frozenset(_WORDS.split())
