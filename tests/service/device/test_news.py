"""Owners of a gateway wake each other."""

import asyncio
import time

from tacit.service.device.client import News

LONG = 30.0


async def everybody():
    """All who can go on do so, whatever the clock says."""
    for _ in range(100):
        await asyncio.sleep(0)


def test_whoever_waits_is_woken_once_for_every_new_question():
    async def main():
        news, woken = News(), []

        async def owner(name):
            while True:
                await news.wait(LONG)
                woken.append(name)

        tasks = [asyncio.create_task(owner(name)) for name in "ab"]
        counts = []
        for question in (b"first", b"first", b"second", b"second"):
            await everybody()
            news.tell(question)
            await everybody()
            counts.append(sorted(woken))
        for task in tasks:
            task.cancel()
        return counts

    assert asyncio.run(main()) == [
        ["a", "b"],
        ["a", "b"],
        ["a", "a", "b", "b"],
        ["a", "a", "b", "b"],
    ]


def test_without_news_a_wait_ends_in_time():
    async def main():
        began = time.monotonic()
        await News().wait(0.05)
        return time.monotonic() - began

    assert 0.04 < asyncio.run(main()) < LONG
