"""Document to blocks, sentences and chunks; language, scripts, anchors and word analysis."""
