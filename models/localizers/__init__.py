"""Whatever translates strings under constraints: engines that know plain sentences, and chat models that read rules."""

from models.localizers.registry import build_localizer, build_translator_of_profile

__all__ = ["build_localizer", "build_translator_of_profile"]
