# Asks as Client.java does, with Python's httpx, or with h2 alone: client.py LIBRARY.
import asyncio, hashlib, socket, ssl, sys
from urllib.parse import urlsplit


async def ask_with_httpx(method, url, count, at_once, body):
    places = asyncio.Semaphore(at_once)
    async with httpx.AsyncClient(http2=True, verify=False, timeout=60) as client:
        async def one():
            async with places:
                response = await client.request(method, url, content=body)
                return f"{response.status_code} {hashlib.sha256(response.content).hexdigest()}"
        return await asyncio.gather(*(one() for _ in range(count)), return_exceptions=True)


async def ask_with_h2(method, url, count, at_once, body):
    to = urlsplit(url)
    context = ssl._create_unverified_context()
    context.set_alpn_protocols(["h2"])
    sock = context.wrap_socket(socket.create_connection((to.hostname, to.port)))
    connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
    connection.initiate_connection()
    head = [(":method", method), (":scheme", "https"), (":authority", to.netloc), (":path", f"{to.path}?{to.query}")]
    outcomes, status, left, hashes = {}, {}, {}, {}
    while len(outcomes) < count:
        while len(hashes) < count and len(hashes) - len(outcomes) < at_once:
            stream = connection.get_next_available_stream_id()
            connection.send_headers(stream, head, end_stream=not body)
            hashes[stream] = hashlib.sha256()
            left[stream] = body
        for stream in [each for each in left if left[each]]:
            while left[stream] and (window := connection.local_flow_control_window(stream)) > 0:
                size = min(window, connection.max_outbound_frame_size)
                piece, left[stream] = left[stream][:size], left[stream][size:]
                connection.send_data(stream, piece, end_stream=not left[stream])
        sock.sendall(connection.data_to_send())
        received = sock.recv(65536)
        for event in connection.receive_data(received):
            if isinstance(event, h2.events.ResponseReceived):
                status[event.stream_id] = dict(event.headers)[":status"]
            elif isinstance(event, h2.events.DataReceived):
                hashes[event.stream_id].update(event.data)
                connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, (h2.events.StreamEnded, h2.events.StreamReset)):
                stream, left[event.stream_id] = event.stream_id, b""
                code = getattr(event, "error_code", None)
                outcome = f"{status.get(stream)} {hashes[stream].hexdigest()}" if code is None else f"reset {code}"
                outcomes.setdefault(stream, outcome)
        if not received:
            outcomes.update({stream: "the connection ended" for stream in hashes if stream not in outcomes})
            break
    sock.close()
    return outcomes.values()


if sys.argv[1] == "h2":
    import h2.config, h2.connection, h2.events
    ask = ask_with_h2
else:
    import httpx
    ask = ask_with_httpx
for task in sys.stdin:
    method, url, count, at_once, file = task.split()
    body = b"" if file == "-" else open(file, "rb").read()
    try:
        outcomes = asyncio.run(ask(method, url, int(count), int(at_once), body))
    except Exception as error:
        outcomes = [error]
    print(*(str(each) or repr(each) for each in outcomes), sep="\t", flush=True)
