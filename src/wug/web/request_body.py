"""Endpoints that receive JSON or a form, with the body validated before use."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from wug.errors import InputError
from wug.web.site import JsonResponse

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
JsonObject: TypeAlias = dict[str, Any]
Form: TypeAlias = dict[str, list[str]]

MAX_DEPTH = 60
"""Maximum nesting of objects and lists; a suite needs six."""
MAX_TIME_MS = 8_640_000_000_000_000
"""Latest time that JavaScript can represent, in milliseconds since 1970."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def json_endpoint(handle: Callable[[Request, JsonObject], Response | JsonObject]) -> Endpoint:
    """An endpoint for a JSON object; `handle` runs in a thread, and returns a response or data for one."""

    async def endpoint(request: Request) -> Response:
        content = parse_json_object(await request.body())
        response = await run_in_threadpool(handle, request, content)
        return response if isinstance(response, Response) else JsonResponse(response)

    return endpoint


def form_endpoint(handle: Callable[[Request, Form], str]) -> Endpoint:
    """An endpoint for a form; `handle` runs in a thread, and returns the URL to go to."""

    async def endpoint(request: Request) -> Response:
        form = parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
        return JsonResponse({"address": await run_in_threadpool(handle, request, form)})

    return endpoint


def parse_json_object(body: bytes) -> JsonObject:
    """Parse a JSON object; InputError if it is not one, or contains values that no file can store."""
    try:
        content = json.loads(body or b"{}", parse_constant=_reject_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        raise InputError("the request body is not JSON") from None
    if not isinstance(content, dict):
        raise InputError("the request body is not a JSON object")
    _validate(content)
    return content


def whole_number(content: JsonObject, key: str, meaning: str, maximum: int = MAX_TIME_MS) -> int:
    """A whole number; InputError if there is another value, which says what it should mean."""
    number = content.get(key)
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= maximum:
        raise InputError(f"{key!r} should be {meaning}")
    return number


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which no file or page can store, by U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def _validate(content: JsonObject) -> None:
    level: list[Any] = [content]
    for _ in range(MAX_DEPTH):
        values: list[Any] = []
        for container in level:
            values += [*container, *container.values()] if isinstance(container, dict) else container
        for text in values:
            if isinstance(text, str) and _SURROGATE.search(text):
                raise InputError(f"{text[:80]!r} contains half a character (a lone surrogate): write it again")
        level = [value for value in values if isinstance(value, dict | list)]
        if not level:
            return
    raise InputError(f"the request body has more than {MAX_DEPTH} nested lists and objects")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return number


def _reject_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")
