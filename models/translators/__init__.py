"""Engines that translate: glossary substitution, commands, sequence-to-sequence models, HTTP services."""
