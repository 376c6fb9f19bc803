"""The pages of the site: each module or package here adds its routes.

It offers
    ROUTES: list[BaseRoute]             endpoints; they find the site with `site_of(request)`
    NAV: NavLink                        optional: a link in the navigation bar
"""

from __future__ import annotations

from starlette.convertors import IntegerConvertor, register_url_convertor


class _Number(IntegerConvertor):
    """A number in a path, `{run:number}`, small enough for SQLite."""

    regex = "[0-9]{1,18}"


register_url_convertor("number", _Number())
