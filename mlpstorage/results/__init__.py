"""The on-disk format of results: names, layout, safe reading and atomic writing. Formats only, no judgement."""
