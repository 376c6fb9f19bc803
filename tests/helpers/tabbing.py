"""Which controls the Tab key reaches, whether the focus is visible, and whether it gets stuck."""

from __future__ import annotations

from typing import Any

MOST = 600
"""Presses of Tab after which a page counts as endless."""

COLLECT = """() => {
  document.activeElement?.blur();
  const NATIVE = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [contenteditable=""], ' +
    '[contenteditable=true], [tabindex="0"], ' + ['button', 'link', 'option', 'tab', 'checkbox', 'radio', 'switch',
    'menuitem', 'slider', 'spinbutton', 'treeitem', 'gridcell'].map((role) => `[role=${role}]`).join(', ');
  const seen = (one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: false }) &&
    [...one.getClientRects()].some((box) => box.width > 1 && box.height > 1) &&
    !one.closest('[inert], [aria-hidden=true], :disabled');
  const points = (one) => getComputedStyle(one).cursor === 'pointer' && (!one.parentElement ||
    getComputedStyle(one.parentElement).cursor !== 'pointer');
  const listening = new Set(window.wugClickable.filter((one) => !one.matches('svg.marks')));  // Vega's, for links
  const scope = document.querySelector('dialog[open]') ?? document.body;
  window.wugControls = [...scope.querySelectorAll('*')].filter((one) =>
    seen(one) && (one.matches(NATIVE) || listening.has(one) || points(one)));
  window.wugReached = [];
  window.wugFaults = [];
  const PARTS = ['outlineStyle', 'outlineWidth', 'outlineColor', 'boxShadow', 'borderColor', 'backgroundColor'];
  const look = (one) => { const style = getComputedStyle(one); return PARTS.map((part) => style[part]).join('|'); };
  const looks = new Map();
  const outlined = (one) => getComputedStyle(one).outlineStyle !== 'none';
  const around = (one) => [one, one.parentElement, one.parentElement?.parentElement].filter(Boolean);
  for (const one of window.wugControls) for (const near of around(one)) looks.set(near, look(near));
  const name = (one) => `${one.tagName.toLowerCase()}#${one.id}.${one.getAttribute('class') ?? ''} ` +
    `${(one.getAttribute('aria-label') ?? one.textContent).trim().replace(/\\s+/g, ' ').slice(0, 40)}`;
  window.wugName = name;
  addEventListener('keydown', (event) => { if (event.key === 'Tab') leave(); }, { capture: true });
  const leave = () => {  // the focused element, before the focus moves
    const now = document.activeElement;
    if (!now || now === document.body) return;
    if (!around(now).some((near) => looks.has(near) ? looks.get(near) !== look(near) : outlined(near)))
      window.wugFaults.push(`no ring: ${name(now)}`);
    const box = now.getBoundingClientRect();
    const left = Math.max(box.left, 0), right = Math.min(box.right, innerWidth);
    const top = Math.max(box.top, 0), bottom = Math.min(box.bottom, innerHeight);
    const at = [[.5, .5], [.1, .2], [.9, .2], [.1, .8], [.9, .8]].map(([x, y]) =>
      document.elementFromPoint(left + x * (right - left), top + y * (bottom - top)));
    const own = (one) => one && (now.contains(one) || one.contains(now) && !one.contains(scope) ||
      now.labels && [...now.labels].some((label) => label.contains(one)));
    if (right <= left || bottom <= top || !at.some(own)) window.wugFaults.push(`not in sight: ${name(now)}`);
  };
}"""
STEP = """() => {
  const now = document.activeElement;
  const first = now && now !== document.body && !window.wugReached.includes(now);
  if (first) window.wugReached.push(now);
  return first ? 'new' : !now || now === document.body ? 'out' :
    now === window.wugReached[window.wugReached.length - 1] ? 'same' : 'round';
}"""
MISSED = """() => {
  const reached = window.wugReached;
  const radio = (one) => one.type === 'radio' &&
    reached.some((other) => other.type === 'radio' && other.name === one.name);
  return window.wugControls.filter((one) => one.isConnected && !radio(one) &&
    !reached.some((other) => one === other || one.contains(other) || other.contains(one)) &&
    !(one.matches('label') && one.control && reached.includes(one.control)) &&
    !(one.closest('label')?.control && reached.includes(one.closest('label').control))).map(window.wugName);
}"""


def faults(page: Any) -> list[str]:
    """What is wrong with a page for someone without a pointer: controls out of reach, no ring, a trap.

    Folded parts are unfolded first. In a field that keeps Tab for itself, as a grid does, Escape must release it.
    """
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    _find_listeners(page)
    page.evaluate(COLLECT)
    stuck = 0
    for _ in range(MOST):
        if stuck:
            page.keyboard.press("Escape")
        page.keyboard.press("Tab")
        where = page.evaluate(STEP)
        if where == "round":
            break
        stuck = stuck + 1 if where == "same" else 0
        if stuck > 2:
            return [f"stuck: {page.evaluate('window.wugName(document.activeElement)')}"]
    else:
        return ["no end"]
    found: list[str] = page.evaluate("window.wugFaults")
    missed: list[str] = page.evaluate(MISSED)
    return [*dict.fromkeys(found), *(f"out of reach: {one}" for one in missed)]


def _find_listeners(page: Any) -> None:
    """Leave in the page a list of the elements that listen to the pointer."""
    session = page.context.new_cdp_session(page)
    root = session.send("Runtime.evaluate", {"expression": "window.wugClickable = [], document.body"})["result"]
    heard = session.send("DOMDebugger.getEventListeners", {"objectId": root["objectId"], "depth": -1})["listeners"]
    for node in {one["backendNodeId"] for one in heard if one["type"] in ("click", "mousedown", "pointerdown")}:
        found = session.send("DOM.resolveNode", {"backendNodeId": node})["object"]
        script = "function () { window.wugClickable.push(this); }"
        session.send("Runtime.callFunctionOn", {"objectId": found["objectId"], "functionDeclaration": script})
    session.detach()
