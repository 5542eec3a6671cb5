"""A receiver of webhooks as a process of its own: answers posts, except at `/hang`. Prints its port."""

import asyncio

from aiohttp import web


async def handle(request: web.BaseRequest) -> web.StreamResponse:
    await request.read()
    if request.path == "/hang":
        await asyncio.sleep(3600)
    return web.Response()


async def serve() -> None:
    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve())
