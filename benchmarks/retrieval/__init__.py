"""How well searches find what they should: queries with known answers, on real sessions."""
