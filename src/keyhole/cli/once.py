"""Commands that refuse a second --budget, of which the parser would silently take the last."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class OneBudget(TyperCommand):
    """A command that plays one budget, and says so where two are given."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, after a look at the order of the options: it has one that is given twice twice."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        if sum(option.name == "budget" for option in order) > 1:
            from keyhole.errors import ProblemError

            raise ProblemError(
                "--budget is given more than once: `keyhole compare` plays several budgets, "
                "with --budgets 4,8"
            )
        return super().parse_args(ctx, args)
