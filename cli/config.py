"""`babelray config`: what the settings are, in the end."""

from typing import Annotated

import typer
import yaml
from rich.console import Console
from rich.syntax import Syntax

from babelray.config import ENV_PREFIX, Settings
from cli.options import ConfigOption, JsonOption, settings_from

app = typer.Typer(help="Show the effective settings and what each one means.", no_args_is_help=True)


@app.command()
def show(
    config: ConfigOption = None,
    as_json: JsonOption = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema: every setting, its bounds, why.")
    ] = False,
) -> None:
    """Print the settings in force: the YAML file, overridden by BABELRAY_* variables, over the defaults.

    Example: BABELRAY_VECTORS__KIND=flat babelray config show -c configs/reindex-demo.yaml
    """
    console = Console(soft_wrap=True)
    if schema:
        console.print_json(data=Settings.model_json_schema())
        return
    settings = settings_from(config)
    if as_json:
        console.print_json(settings.model_dump_json())
        return
    text = yaml.safe_dump(settings.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    console.print(Syntax(text, "yaml", background_color="default", word_wrap=True) if console.is_terminal else text)
    console.print(f"# override any value by {ENV_PREFIX}<NAME>, `__` entering a group", style="dim")
