"""Judges finished results trees of MLPerf Storage by the rule book."""
