"""From a query to cited passages under one access scope."""
