"""Help: how to read the pages, and the keys of each."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.web.site import site_of

NAV = ("Help", "/help", 90)
KEYS = {
    "On every page": {
        "?": "this page",
        "/": "move to the filter",
        "[ and ]": "previous and next page, or item",
        "Tab, Enter": "move between links, buttons and charts; open",
    },
    "In the dots of a prediction": {
        "arrows": "move from item to item",
        "Enter": "open the item",
    },
    "In the suite editor": {
        "arrows, Tab, Enter": "move between cells; Shift with an arrow selects several",
        "F2, Esc": "edit a cell; discard the change",
        "Ctrl+C, Ctrl+X, Ctrl+V": "copy and paste, also from a spreadsheet",
        "Ctrl+D": "fill with the cell above",
        "Ctrl+F": "find and replace",
        "Ctrl+Enter, Alt+C, Alt+R": "add an item, a condition, a region",
        "Alt+arrows": "move an item, a condition or a region",
        "Ctrl+Z, Ctrl+Shift+Z": "undo and redo",
        "Esc, then Tab": "leave the grid",
    },
}


def _page(request: Request) -> Response:
    return site_of(request).render(request, "help.html", keys=KEYS)


ROUTES: list[BaseRoute] = [Route("/help", _page)]
