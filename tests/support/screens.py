"""The screen of `kafka-warden top` as lines of text."""

from textual.pilot import Pilot

from kafka_warden.top.screen import Top

WITHIN = 600
"""Times 50 ms: how long a reading may take on a busy machine."""


def screen_of(app: Top) -> list[str]:
    return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]


async def settled(app: Top, pilot: Pilot[int]) -> None:
    """Wait until something was read after this call, and drawn."""
    app._wake.set()
    before = app.readings
    for _ in range(WITHIN):
        if app.readings > before:
            break
        await pilot.pause(0.05)
    else:
        raise AssertionError("nothing was read")
    await pilot.pause()


async def shows(app: Top, pilot: Pilot[int], *words: str) -> None:
    for _ in range(WITHIN):
        text = "\n".join(screen_of(app))
        if all(word in text for word in words):
            return
        await pilot.pause(0.05)
    raise AssertionError(f"{words} in\n{text}")
