"""Cases of retrieval with their answers, ranking and evidence metrics, and intervals by bootstrap."""
