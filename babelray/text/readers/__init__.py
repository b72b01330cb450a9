"""Files and tables to documents."""
