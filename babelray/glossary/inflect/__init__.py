"""Other forms of a term: inflected, spelled otherwise, shortened. One JSON file of rules a language, one engine.

`forms.expand` is the way in. To add a language, add its file: `rules.LanguageRules` describes every field.
"""
