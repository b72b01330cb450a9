"""The `babelray` command. Nothing else imports it."""
