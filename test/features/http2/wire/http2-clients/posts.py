"""Posts with httpx, whose HTTP/2 is h2, as Posts.java does."""
import asyncio
import sys

import httpx


async def post(client, url):
    try:
        response = await client.post(url, content=b"{}")
        return f"{response.http_version.replace('/', '_')} {response.status_code}"
    except Exception as error:
        return repr(error)


async def main():
    async with httpx.AsyncClient(http2=True, verify=False, timeout=120) as client:
        loop = asyncio.get_running_loop()
        while task := await loop.run_in_executor(None, sys.stdin.readline):
            count, url = task.split()
            print("\t".join(await asyncio.gather(*(post(client, url) for _ in range(int(count))))), flush=True)


asyncio.run(main())
