"""Sessions: listing, lookup, lineage, transcripts and export."""
