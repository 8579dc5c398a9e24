"""Coroutines have their requests done by one thread, many in a commit, and nothing is lost."""

import asyncio
from pathlib import Path

import pytest

import keyhole as kh
from keyhole.counter.store import requests
from keyhole.counter.store.writer import AsyncStore

PROBLEM = kh.Problem(d=6, k=2, budget=3)


@pytest.fixture
def store(folder: Path) -> kh.Store:
    made = kh.Store(folder / "keyhole.db")
    made.create("a", PROBLEM, "random")
    return made


def test_what_comes_together_is_committed_together(store: kh.Store) -> None:
    async def play() -> None:
        writing = AsyncStore(store)

        async def round(y: float) -> None:
            [ticket] = await writing.answer(requests.ask("a"))
            await writing.answer(requests.fill(ticket.id, [1.0, 2.0, y]))
            [told] = await writing.answer(requests.tell(ticket.id, y))
            assert told == store.ticket(ticket.id)

        await asyncio.gather(*(round(float(number)) for number in range(40)))
        writing.close()

    before = store.commits
    asyncio.run(play())
    groups, many = (b - a for a, b in zip(before, store.commits, strict=True))
    assert many == 120
    assert groups < 120
    assert store.info("a").told == 40
    store.verify()
    store.close()


def test_errors_repetitions_and_those_who_leave(store: kh.Store) -> None:
    async def play() -> None:
        writing = AsyncStore(store)
        first = await writing.answer(requests.ask("a", key="k"))
        assert await writing.answer(requests.ask("a", key="k")) == first
        with pytest.raises(kh.UnknownLearnerError):
            await writing.answer(requests.ask("b"))
        with pytest.raises(kh.UnknownTicketError):
            await writing.answer(requests.drop("0123-4567-89AM"))
        leaving = asyncio.ensure_future(writing.answer(requests.ask("a", 2)))
        await asyncio.sleep(0)
        leaving.cancel()  # it was sent: it is done
        await writing.answer(requests.ask("a"))
        assert store.info("a").rounds == 4
        waiting = asyncio.ensure_future(writing.answer(requests.ask("a", 3)))
        await asyncio.sleep(0)
        await asyncio.to_thread(writing.close)  # what was taken is finished
        assert len(await waiting) == 3
        with pytest.raises(kh.StoreError, match="closed"):
            await writing.answer(requests.ask("a"))

    asyncio.run(play())
    assert store.info("a").rounds == 7
    store.close()


def test_a_store_that_fails_fails_everybody_who_waits(
    store: kh.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> list[object]:
        writing = AsyncStore(store)
        asked = [writing.answer(requests.ask("a")) for _ in range(5)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        writing.close()
        return list(found)

    def broken() -> None:
        raise kh.StoreError("disk I/O error")

    monkeypatch.setattr(store._database, "refuse_if_replaced", broken)
    found = asyncio.run(play())
    assert all(isinstance(error, kh.StoreError) for error in found)
    assert all("not confirmed" in str(error) for error in found)
    monkeypatch.undo()
    assert store.info("a").rounds == 0
    store.close()
