"""One timer for many waits."""

import asyncio

import pytest

from tacit.service.protocol.guard import Patience

SHORT, MOMENT = (
    0.4,
    0.01,
)  # seconds; far apart, so that a busy machine cannot mistake one for the other


async def waits(patience: Patience, seconds: float) -> str:
    with patience:
        await asyncio.sleep(seconds)
    return "in time"


def test_who_is_quick_notices_nothing_and_who_is_slow_is_told():
    async def main():
        patience = Patience(SHORT)
        waiting = [waits(patience, seconds) for seconds in (0.0, 30.0, MOMENT, 30.0)]
        first = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 10)
        again = await asyncio.wait_for(
            asyncio.gather(waits(patience, 30.0), return_exceptions=True), 10
        )
        return [*first, *again]

    quick, slow, quick_too, slow_too, later = asyncio.run(main())
    assert quick == quick_too == "in time"
    assert {type(each) for each in (slow, slow_too, later)} == {TimeoutError}


def test_a_task_that_others_cancel_is_cancelled():
    async def main():
        patience = Patience(30.0)
        task = asyncio.create_task(waits(patience, 20.0))
        await asyncio.sleep(MOMENT)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_a_task_that_is_told_can_go_on():
    async def main():
        patience = Patience(SHORT)
        with pytest.raises(TimeoutError):
            await waits(patience, 30.0)
        await asyncio.sleep(2 * SHORT)
        return await waits(patience, 0.0)

    assert asyncio.run(main()) == "in time"


def test_errors_inside_are_their_own():
    async def main():
        with Patience(SHORT):
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        asyncio.run(main())
