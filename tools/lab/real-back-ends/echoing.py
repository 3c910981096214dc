"""Responds to a GET with so many bytes, and a POST with what arrived: for WSGI, for ASGI, and alone, as HTTP/1.0: `python3 echoing.py PORT`."""
import hashlib
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

pattern = bytes((i * 31 + (i >> 8)) & 255 for i in range(1 << 20))


def get(query):
    """The body, and whether its length is said."""
    asked = parse_qs(query, keep_blank_values=True)
    return pattern[: int(asked.get('bytes', ['0'])[0])], 'plain' not in asked


def post(target, body, probe):
    return f'POST {target} {len(body)} {hashlib.sha256(body).hexdigest()} {probe}'.encode()


def wsgi(environ, start_response):
    body = environ['wsgi.input'].read()
    length = True
    if environ['REQUEST_METHOD'] == 'POST':
        said = post(environ['RAW_URI'], body, environ['HTTP_X_PROBE'])
    else:
        said, length = get(environ['QUERY_STRING'])
    start_response('200 OK', [('Content-Length', str(len(said)))] if length else [])
    return [said]


async def asgi(scope, receive, send):
    body = b''
    more = True
    while more:
        message = await receive()
        body += message.get('body', b'')
        more = message.get('more_body', False)
    query = scope['query_string'].decode()
    length = True
    if scope['method'] == 'POST':
        probe = dict(scope['headers'])[b'x-probe'].decode()
        said = post(scope['raw_path'].decode().split('?')[0] + '?' + query, body, probe)
    else:
        said, length = get(query)
    headers = [(b'content-length', str(len(said)).encode())] if length else []
    await send({'type': 'http.response.start', 'status': 200, 'headers': headers})
    await send({'type': 'http.response.body', 'body': said})


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.respond(*get(self.path.partition('?')[2]))

    def do_POST(self):
        self.respond(post(self.path, self.body(), self.headers['X-Probe']), True)

    def body(self):
        if 'Content-Length' in self.headers:
            return self.rfile.read(int(self.headers['Content-Length']))
        body = b''
        while size := int(self.rfile.readline().split(b';')[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def respond(self, said, length):
        self.send_response(200)
        if length:
            self.send_header('Content-Length', str(len(said)))
        self.end_headers()
        self.wfile.write(said)


class Server(ThreadingHTTPServer):
    request_queue_size = 1024


if __name__ == '__main__':
    Server(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
