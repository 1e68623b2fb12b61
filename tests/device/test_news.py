"""Owners of a gateway wake each other."""

import asyncio
import time

from tacit.device.news import News

LONG = 30.0


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
            await asyncio.sleep(0.01)
            news.tell(question)
            await asyncio.sleep(0.01)
            counts.append(sorted(woken))
        for task in tasks:
            task.cancel()
        return counts

    assert asyncio.run(main()) == [["a", "b"], ["a", "b"], ["a", "a", "b", "b"], ["a", "a", "b", "b"]]


def test_without_news_a_wait_ends_in_time():
    async def main():
        began = time.monotonic()
        await News().wait(0.05)
        return time.monotonic() - began

    assert 0.04 < asyncio.run(main()) < 5
