// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
/** Each mistake that an operator can make is one problem: where it is, with its message and its remedy. */
import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { findProblems, sandbox, withRisk } from '../../core/config/helper.ts'

/** A value that is wrong in its place, and the keys that lead there; then the message, and the hint or expectation. */
type WrongValue = [keys: string, value: string, message: string, remedy?: string]

/** Lines of a file, with ▸ where the problem is; then its key path, the message, and the hint or the expectation. */
type WrongLines = [lines: string, path: string, message: string, remedy?: string]

const pem = (label: string): string => `"-----BEGIN ${label}-----\\nnothing\\n-----END ${label}-----"`
const [certificate, key, encrypted] = [pem('CERTIFICATE'), pem('PRIVATE KEY'), pem('ENCRYPTED PRIVATE KEY')]
const token = 'abcdefghijklmnopqrstuvwxyz'
const hex = 'ab12'.repeat(16)
const sha256 = hash('sha256', token)

const own = "the gateway's own public listener"
const trusted = 'trust any server that responds'
const pause = 'the first pause is longer than the longest'
const manyFields = Array.from({ length: 101 }, (_, i) => `X-${i}: a`).join(', ')
const ownFields = [
  ...['Content-Length', 'transfer-encoding', 'Connection', 'Keep-Alive', 'TE', 'Trailer', 'Upgrade', 'HTTP2-Settings'],
  ...['Proxy-Authorization', 'Expect', 'Via', 'X-Forwarded-For', 'X-Forwarded-Proto', 'X-Forwarded-Host'],
  ...['X_Forwarded_For', 'Content_Length'],
]

const values: readonly WrongValue[] = [
  ['version', '2', 'unknown version', 'write 1'],
  ['version', '"1"', 'unknown version', 'without quotes'],
  ['allowSandbox', 'yes', 'not a boolean', 'write true, without quotes'],
  ['allowSandbox', '"true"', 'not a boolean', 'without quotes'],
  ['workers', '0', 'too small', 'write at least 1'],
  ['workers', '"2"', 'a number in quotes', 'write 2, without quotes'],
  ['workers', 'Auto', 'unknown value', 'write auto'],
  ['workers', 'none', 'not a number', 'cannot be turned off'],
  ['requestId header', '"X Request"', 'not a field name'],
  ['requestId header', 'Connection', 'set by the gateway'],

  ['listen', '8080', 'the wrong kind of value', 'a map'],
  ['listen', 'port 8080', 'the wrong kind of value', 'a map'],
  ['listen', '"${LISTEN:-x}"', 'the wrong kind of value', 'a map'],
  ['listen port', '"8080"', 'a number in quotes', 'write 8080, without quotes'],
  ['listen port', '65536', 'too large', 'write at most 65535'],
  ['listen port', '80.5', 'not a whole number'],
  ['listen port', 'http', 'not a number'],
  ['listen port', '[80]', 'the wrong kind of value', 'a whole number'],
  ['listen port', '*nowhere', 'an alias without an anchor'],
  ['listen port', '${lower-case}', 'an unknown placeholder', 'literal ${'],
  ['listen port', '${PORT', 'an unknown placeholder'],
  ['listen port', '${PORT:-eighty}', 'not a number'],
  ['listen port', '"1${PORT:-2}"', 'a number in quotes'],
  ['listen host', '"*"', 'not an address', '0.0.0.0'],
  ['listen host', '*', 'an alias without an anchor', 'put the value in quotes'],
  ['listen host', 'localhost:80', 'not an address', 'the port goes under its own key'],
  ['listen host', '127.0.0.1:8080', 'not an address', 'the port goes under its own key'],
  ['listen host', '"[::1]"', 'not an address', 'without brackets'],
  ['listen host', 'true', 'the wrong kind of value', 'an IP address'],
  ['listen host', 'a: b', 'a second colon', 'quote'],
  ['listen host', '${HOST}', 'HOST is not set', 'write ${HOST:-default}'],
  ['listen host', '"a.${HOST}"', 'HOST is not set'],
  ['listen host', '0.0.0.0', 'could reach the sandbox', 'real endpoints, or set allowSandbox: true'],
  ['listen host', 'gateway.internal', 'could reach the sandbox'],
  ['listen basePath', 'lender/v1', 'not an absolute path', 'write /lender/v1'],
  ['listen basePath', '/a//b', 'empty segment'],
  ['listen basePath', '/a/../b', 'dot segment'],
  ['listen basePath', '"/a b"', 'must be encoded', '%20'],
  ['listen trustedProxies', '10.0.0.0/8', 'the wrong kind of value', 'write [10.0.0.0/8]'],
  ['listen trustedProxies', `[${Array(1001).fill('10.0.0.1').join(', ')}]`, 'too many entries', 'at most 1000'],
  ['listen trustedProxies [0]', '10.0.0.0/33', 'wrong prefix length', 'write /0 to /32 after the address'],
  ['listen trustedProxies [0]', 'proxy.internal', 'not an address', 'CIDR'],
  ['listen forwarded', 'forwarded', 'unknown value', 'rfc7239'],
  ['listen proxyProtocol', 'true', 'the wrong kind of value', 'a map'],
  ['listen proxyProtocol from', '[]', 'the list is empty', 'add one'],
  ['listen proxyProtocol from', '10.0.0.0/28', 'the wrong kind of value', 'write [10.0.0.0/28]'],
  ['listen proxyProtocol from [0]', 'elb.internal', 'not an address', 'CIDR'],
  ['listen hosts [0]', '"http://a"', 'not a host', 'the name alone'],
  ['listen hosts [0]', '"*.example"', 'not a host', 'no wildcards'],
  ['listen hosts [0]', '"::1"', 'not a host', 'in brackets'],
  ['listen hosts [0]', '"a b"', 'not a host'],
  ['listen minRate', '1KiB', 'not a rate', 'write 1KiB/s'],
  ['listen minRate', '240', 'a unit is missing', 'write 240B/s'],
  ['listen minRate', '0B/s', 'too small', '1B/s'],
  ['listen minRate', 'off', 'not a rate', 'write none'],
  ['listen via', 'a gateway', 'not a token'],
  ['listen maxTarget', '8192', 'a unit is missing', 'write 8KiB'],
  ['listen maxTarget', '128KiB', 'too large', '64KiB'],
  ['listen maxHeaders', '2MiB', 'too large', '1MiB'],
  ['listen maxHeaderFields', '0', 'too small', '1'],
  ['listen maxConnections', 'off', 'not a number', 'write none'],
  ['listen maxConnections', '-1', 'too small', 'write at least 1'],
  ['listen timeouts headers', 'none', 'not a duration', 'cannot be turned off'],
  ['listen timeouts body', '0s', 'too small', '1ms'],
  ['listen http2', 'true', 'ALPN', 'listen.tls'],

  ['admin port', '99999', 'too large'],
  ['admin port', '8080', 'the admin listener has the address of the public listener', 'choose another port'],
  ['admin hosts', 'gateway.internal', 'the wrong kind of value', 'a list'],
  ['admin hosts [0]', 'gateway.internal:9901', 'not an address', 'the port goes under its own key'],
  ['admin token', 'hunter2', 'too short', 'openssl rand -hex 32'],
  ['admin token', `Bearer ${token}`, 'not a token', 'letters, digits and -._~+/'],
  ['admin token', '"a token with blanks in it"', 'not a token', 'openssl rand'],
  ['admin token', '12345678901234567890', 'not text', 'quotes'],
  ['admin token', 'file:nowhere', 'no such file', 'a readable text file'],
  [
    'admin metricsToken',
    token,
    'admin.metricsToken protects nothing: without admin.token, everything is open',
    'openssl rand -hex 32',
  ],
  ['admin tokens', `{ name: a, hash: ${sha256}, scope: read }`, 'the wrong kind', 'begin each entry of the list with'],
  ['admin insecure', 'yes', 'not a boolean', 'write true, without quotes'],
  ['reload poll', '5', 'a unit is missing', 'write 5s'],
  ['reload watch', 'off', 'not a boolean', 'write false, without quotes'],
  ['reload preflight', 'false', 'unknown value', 'one of connect, health, none'],
  ['reload', 'false', 'the wrong kind of value', 'a map'],
  ['log level', 'INFO', 'unknown value', 'write info'],
  ['shutdown deadline', '1ms', 'the deadline ends before the wait', 'make it longer than the wait'],

  ['limits address rate', '100', 'not a rate', 'write 100/s'],
  ['limits address rate', '5 per minute', 'not a rate', 'write 5/min'],
  ['limits address rate', '5/h', 'not a rate', '1/min'],
  ['limits address rate', '0/s', 'too small'],
  ['limits address rate', '1000001/s', 'too large'],
  ['limits address', 'off', 'not a policy', 'none'],
  ['limits redis', '{ prefix: a }', 'url, sentinels or cluster is missing', 'add url'],
  ['limits redis', 'redis://:hunter2@redis', 'not a policy', 'url: file:'],
  ['limits redis', '[]', 'the wrong kind of value', 'none, or a map such as { url: '],
  ['limits redis url', 'http://redis', 'not a URL of Redis', 'redis://'],
  ['limits redis url', 'redis://:hunter2@redis/x', 'a path that is not a database number', 'write /0'],
  ['limits redis url', 'redis://:hunter2%@redis', 'broken percent-encoding'],
  ['limits redis url', '"redis://:hunter2@redis?x=1"', 'a URL with a query'],
  ['limits redis cluster', '[redis://a, rediss://b]', 'some nodes with TLS', 'as these URLs say'],
  ['limits redis cluster [0]', '"redis://:hunter2@redis"', 'a name or a password', 'password: file:'],
  ['limits redis cluster [0]', 'redis://redis/1', 'database 0', 'remove the path'],
  ['limits redis sentinels', '[a:26379]', 'without the name of the master', 'name: mymaster'],

  ['defaults timeouts connect', '2', 'a unit is missing', 'write 2s'],
  ['defaults timeouts headers', '1.5s', 'not a duration', 'write 1500ms'],
  ['defaults timeouts body', '25h', 'too large', '24h'],
  ['defaults deadline', 'never', 'not a duration', 'write none'],
  ['defaults keepAlive', 'true', 'the wrong kind of value', 'a duration'],
  ['defaults maxBody', '64MB', 'not a size', 'write 64MiB'],
  ['defaults maxBody', '2TiB', 'too large', '1TiB'],
  ['defaults maxConnections', 'none', 'not a number'],
  ['defaults outlier maxEjected', '0.25', 'a unit is missing', 'write 25%'],
  ['operations', '[market.insights]', 'the wrong kind of value', 'a map'],
  ['operations market.insights', 'reject', 'the wrong kind of value', 'a map'],
  ['operations market.insights cache', '60s', 'neither true nor false'],
  ['operations inventory.sync cache', 'true', 'only GET operations', 'remove'],
  ['operations inventory.sync state', 'off', 'unknown value', 'one of serve, reject'],
  ['operations inventory.sync state', 'serv', 'unknown value', 'did you mean serve?'],
  ['operations inventory.sync idempotent', 'true', 'part of idempotency now', 'idempotency: { onUnknown: forward }'],

  ['upstreams risk', 'risk.internal:8080', 'not a URL', 'put http:// or https:// in front'],
  ['upstreams risk', 'sandbx', 'not a URL', 'did you mean sandbox?'],
  ['upstreams risk', 'http:/risk.internal', 'not a URL', 'write http:// or https://'],
  ['upstreams risk', 'http:\\\\risk.internal', 'not a URL'],
  ['upstreams risk', 'ftp://risk.internal', 'unknown scheme', 'https://'],
  ['upstreams risk', 'http://admin:hunter2@risk.internal', 'a URL with a user name or password', 'with request.set'],
  ['upstreams risk', 'http://risk.internal?a=1', 'a URL with a query', 'remove ? and what follows it'],
  ['upstreams risk', '"http://risk.internal/#a"', 'a URL with a fragment'],
  ['upstreams risk', 'file:/run/secrets/url', 'not a URL', 'write the URL here, or ${NAME}'],
  ['upstreams risk', '${RISK_URL}', 'the environment variable RISK_URL is not set', 'or write ${RISK_URL:-default}'],
  ['upstreams risk', '%RISK_URL%', 'a value that begins with a reserved character', 'put the value in quotes'],
  ['upstreams risk', 'http://risk.internal:0', 'wrong port', '1 to 65535'],
  ['upstreams risk', 'http://risk.internal:70000', 'wrong port'],
  ['upstreams risk', 'http://risk.internal:http', 'not a host and port'],
  ['upstreams risk', 'http://', 'not a host and port'],
  ['upstreams risk', 'http:///path', 'not a host and port'],
  ['upstreams risk', 'http://::1:80', 'not a host and port', 'brackets'],
  ['upstreams risk', 'http://[::g]', 'not a host and port'],
  ['upstreams risk', 'http://1.2.3.999', 'not a host name'],
  ['upstreams risk', 'http://bücher.example', 'not a plain host name', 'xn--'],
  ['upstreams risk', 'http://risk.internal/a/../b', 'dot segment'],
  ['upstreams risk', 'http://risk.internal/%2e%2E/b', 'dot segment'],
  ['upstreams risk', 'http://risk.internal/a//b', 'empty segment'],
  ['upstreams risk', 'http://risk.internal/ä', 'must be encoded'],
  ['upstreams risk', 'http://risk.internal/%zz', 'must be encoded'],
  ['upstreams risk', '[http://a]', 'the wrong kind of value', 'or a map'],
  ['upstreams risk', 'http://127.0.0.1:9901', "the gateway's own admin listener", 'admin.port'],
  ...'127.0.0.1 localhost LOCALHOST. api.localhost 0.0.0.0 [::ffff:127.0.0.1] 127.1 0x7f000001'
    .split(' ')
    .map((host): WrongValue => ['upstreams risk', `http://${host}:8080/p`, own, 'or change listen.port']),
  ['upstreams risk endpoints', '[]', 'the list is empty', 'add a URL or sandbox'],
  ['upstreams risk endpoints', 'http://a', 'the wrong kind of value', 'a list'],
  ['upstreams risk endpoints', `[${Array(257).fill('sandbox').join(', ')}]`, 'too many entries', 'at most 256'],
  ['upstreams risk endpoints', '[{ url: http://a, weight: 0 }]', 'no endpoint has a weight', '1 or more'],
  ['upstreams risk endpoints', '[{ url: http://a, drain: true }]', 'no endpoint takes work', 'set its state: reject'],
  ['upstreams risk endpoints', '[{ url: http://a, drain: true }, { url: http://b, weight: 0 }]', 'no endpoint takes'],
  ['upstreams risk endpoints [0]', '1', 'the wrong kind of value', 'a URL'],
  ['upstreams risk host', 'http://risk.internal', 'not a host', 'without http://'],
  ['upstreams risk host', '1', 'the wrong kind of value', 'client'],
  ['upstreams risk tls verify', 'on', 'not a boolean', 'write true, without quotes'],
  ['upstreams risk balance', 'leastconn', 'unknown value', 'one of p2c, least-requests, round-robin'],
  ['upstreams risk balance', 'P2C', 'unknown value', 'write p2c'],
  ['upstreams risk slowStart', '0s', 'too small', 'or none'],
  ['upstreams risk slowStart', '2h', 'too large', 'write at most 1h'],
  ['upstreams risk resolve', '100ms', 'too small', 'write at least 1s'],
  ['upstreams risk resolve', 'none', 'not a duration', 'cannot be turned off'],
  ['upstreams risk maxPending', 'none', 'not a number', 'write a larger one'],
  ['upstreams risk outlier', 'off', 'not a policy', 'write none'],
  ['upstreams risk outlier failureRate', '10', 'a unit is missing', 'write 10%'],
  ['upstreams risk outlier failureRate', '0%', 'too small', '1%'],
  ['upstreams risk outlier maxEjected', '10 %', 'not a percentage', 'write 10%'],
  ['upstreams risk outlier maxEjected', '101%', 'too large', '100%'],
  ['upstreams risk outlier consecutiveFailures', 'off', 'not a number', 'write none to turn this limit off'],
  ['upstreams risk circuitBreaker window', '500ms', 'too small', 'write at least 1s'],
  ['upstreams risk circuitBreaker probes', '0', 'too small', 'at least 1'],
  ['upstreams risk healthCheck', 'true', 'not a policy', 'write { path: /healthz }, or none'],
  ['upstreams risk healthCheck', '/healthz', 'not a policy', '{ path: /healthz }'],
  ['upstreams risk healthCheck', '[/]', 'the wrong kind of value', 'or a map'],
  ['upstreams risk healthCheck path', 'healthz', 'not an absolute path', 'write /healthz'],
  ['upstreams risk healthCheck path', '"http://risk/healthz"', 'not a path', 'write the path alone'],
  ['upstreams risk healthCheck path', '"/healthz#a"', 'a path with a fragment', 'remove # and what follows it'],
  ['upstreams risk healthCheck path', '/health check', 'a character that must be encoded', '%20'],
  ['upstreams risk healthCheck path', '"/ HTTP/1.1\\r\\nA: b"', 'a character that must be', 'percent-encode it'],
  ['upstreams risk healthCheck path', `/${'a'.repeat(1024)}`, 'too long', 'at most 1024 characters'],

  ['upstreams risk retry', '3', 'not a policy', 'write { }, or none to turn it off'],
  ['upstreams risk retry attempts', '1', 'too small', 'at least 2'],
  ['upstreams risk retry on', '[]', 'the list is empty', 'remove the key'],
  ['upstreams risk retry on', '503', 'the wrong kind of value', 'a list'],
  ['upstreams risk retry on [0]', '"503"', 'not a cause of retries', 'write 503, without quotes'],
  ['upstreams risk retry on [0]', 'content-too-large', 'not a cause of retries', 'one of connect-failed'],
  ['upstreams risk retry on [0]', '200', 'not a cause of retries', '429, 500'],
  ['upstreams risk retry budget', 'none', 'the wrong kind of value', 'a map'],
  ['upstreams risk retry budget share', '0.1', 'a unit is missing', 'write 10%'],
  ['upstreams risk tls', 'none', 'the wrong kind of value', 'a map'],
  ['upstreams risk tls verify', 'false', trusted, 'insecure: true'],
  ['upstreams risk tls verify', 'no', 'not a boolean', 'write false, without quotes'],
  ['upstreams risk tls ca', '/etc/ca.pem', 'not a certificate in PEM', 'file:'],
  ['upstreams risk tls ca', 'file:/no/such', 'no such file', 'readable'],
  ['upstreams risk tls ca', certificate, 'a certificate that cannot be read', 'it may be cut short'],
  ['upstreams risk tls ca', key, 'not a certificate', 'PEM'],
  ['upstreams risk tls certificate', certificate, 'a certificate without its key', 'add key: file:PATH'],
  ['upstreams risk tls key', key, 'a key without its certificate', 'add certificate: file:PATH'],
  ['upstreams risk tls minVersion', 'TLSv1.1', 'unknown value', 'one of TLSv1.2, TLSv1.3'],
  ['upstreams risk tls minVersion', '1.3', 'unknown value', 'TLSv1.3'],
  ['upstreams risk tls serverName', '10.0.0.1', 'an address', 'a name from the certificate'],
  ['upstreams risk tls serverName', '"risk.internal:443"', 'not a host name', 'write the name alone'],
  ['upstreams risk tls serverName', 'risk.internal.', 'not a host name', 'risk.internal'],

  ['upstreams risk request remove', 'Cookie', 'the wrong kind of value', 'a list'],
  ['upstreams risk request remove', `[${Array(101).fill('X-A').join(', ')}]`, 'too many entries', 'at most 100'],
  ['upstreams risk request remove [0]', 'host', 'set by the gateway', 'the host key'],
  ['upstreams risk request remove [0]', '"a b"', 'not a field name'],
  ['upstreams risk request remove [0]', 'X_Forwarded_For', 'set by the gateway'],
  ['upstreams risk request remove [0]', 'X_Request_Id', 'carries the request id'],
  ['upstreams risk response remove [0]', 'x-request-id', 'carries the request id'],
  ...['content-length', 'Connection', 'Via', 'TE', 'Proxy-Authenticate', 'Proxy-Authentication-Info'].map(
    (name): WrongValue => ['upstreams risk response remove [0]', name, 'set by the gateway'],
  ),
  ['upstreams risk request set', `{ ${manyFields} }`, 'too many fields', 'at most 100'],
  ['upstreams risk request set X-A', '1', 'not a string', 'put the value in quotes'],
  ['upstreams risk request set X-A', '[a]', 'not a string'],
  ['upstreams risk request set X-A', '"a\\r\\nX-B: b"', 'a control character'],
  ['upstreams risk request set X-A', '"a\\0"', 'a control character'],
  ['upstreams risk request set X-A', '"€"', 'above U+00FF'],
  ['upstreams risk request set X-A', '" a"', 'blanks'],
  ['upstreams risk request set X-A', 'file:no/such/file', 'no such file', 'a readable text file'],
  ['upstreams risk request set X-A', '"file:"', 'a directory'],
]

const risk = (...lines: readonly string[]): string =>
  withRisk(['', 'endpoints: [http://risk.internal]', ...lines].join('\n    '))
const setOfRisk = (field: string): string => risk(`request: { set: { ${field} } }`)
const ofSet = (name: string): string => `upstreams.risk.request.set.${name}`
const endpoint = (field: string): string => withRisk(` { endpoints: [{ url: http://a, ${field} }] }`)
const ofCandidate = 'upstreams.risk.candidate.request.set.x_request_id'

const here = 'this token is listed twice'
const redis = (more: string, url = 'redis://a'): string => `limits: { redis: { url: ${url}, ${more} } }`
const tokens = (...each: readonly string[]): string => `admin: { tokens: [${each}] }`
const ofAnna = `{ name: anna, hash: ${sha256}, scope: read }`
const ofBert = `{ name: bert, hash: ▸${sha256}, scope: read }`
const itsOwnHash = `admin: { token: ${hex}, tokens: [{ name: anna, hash: ▸${hex}, scope: operate }] }`
const tls = (cert: string, key: string): string => `admin: { tls: { certificate: ${cert}, key: ${key} } }`
const operators = '▸clientCertificate: { operators: [{ name: anna, san: "dns:anna.example", scope: read }] }'
const auth = 'auth: { methods: [apiKey] }\nclients'
const identity = `${auth.replace(']', '], identityField: X-Id')}: [{ id: a, operations: all }]`
const open = 'allowSandbox: true'
const firstPause = 'upstreams.risk.retry.backoff.base'
const longestPause = 'defaults: { retry: { backoff: { max: 1s } } }'
const expected = 'upstreams.risk.healthCheck.expect'
const partCheck = 'defaults: { ▸healthCheck: { interval: 1s } }'

const lines: readonly WrongLines[] = [
  ['▸lisen: {}', 'lisen', 'unknown key; did you mean "listen"?'],
  ['▸Listen: {}', 'Listen', 'did you mean "listen"?'],
  ['▸backends: { a: b }', 'backends', 'unknown key', 'remove it, or indent it under the key that it belongs to'],
  ['▸<<: { version: 1 }', '"<<"', 'unknown key'],
  ['listen: { ▸__proto__: 1 }', 'listen.__proto__', 'unknown key', 'remove'],
  ['listen: { ▸prot: 80 }', 'listen.prot', 'did you mean "port"?'],
  ['listen: { ▸base_path: /x }', 'listen.base_path', 'did you mean "basePath"?'],
  ['reload: { ▸interval: 5s }', 'reload.interval', 'unknown key', 'one of watch, poll'],
  ['defaults: { circuitBreaker: { ▸openfor: 5s } }', 'defaults.circuitBreaker.openfor', 'did you mean "openFor"?'],
  [risk('▸hosts: client'), 'upstreams.risk.hosts', 'did you mean "host"?'],
  [risk('▸breaker: {}'), 'upstreams.risk.breaker', 'unknown key', 'circuitBreaker'],
  [risk('outlier: { ▸consecutive5xx: 5 }'), 'upstreams.risk.outlier.consecutive5xx', 'unknown key', 'one of consecu'],
  [risk('response: { ▸add: {} }'), 'upstreams.risk.response.add', 'unknown key', 'set, remove'],
  [withRisk(' { endpoints: [{ url: http://a, ▸wieght: 1 }] }'), 'upstreams.risk.endpoints[0].wieght', '"weight"?'],
  [withRisk(' sandbox\n  ▸risks: sandbox'), 'upstreams.risks', 'did you mean "risk"?'],
  ['operations: { ▸market.insight: {} }', 'operations.market.insight', 'did you mean "market.insights"?'],
  ['operations: { ▸/market/insights: {} }', 'operations."/market/insights"', 'did you mean "market.insights"?'],
  ['operations: { market.insights: { ▸dedline: 1s } }', 'operations.market.insights.dedline', '"deadline"?'],
  ['operations: { market.insights: { ▸timeouts: {} } }', 'operations.market.insights.timeouts', 'unknown', 'one of'],

  ['▸listen:', 'listen', 'no value', 'remove the key'],
  ['listen: { ▸port: }', 'listen.port', 'no value', 'a whole number'],
  ['listen: { ▸proxyProtocol: {} }', 'listen.proxyProtocol.from', 'missing', 'a list'],
  [`admin: { ▸tls: { certificate: ${certificate} } }`, 'admin.tls.key', 'missing', 'a private key in PEM, or file:'],
  [withRisk('').replace('risk', '▸risk'), 'upstreams.risk', 'no value', 'a URL such as http://risk.internal:80'],
  [withRisk(' { }').replace('risk', '▸risk'), 'upstreams.risk.endpoints', 'missing', 'a list'],
  [withRisk('\n    ▸endpoints:\n'), 'upstreams.risk.endpoints', 'no value', 'a list'],
  [withRisk('\n    endpoints:\n      - ▸weight: 5'), 'upstreams.risk.endpoints[0].url', 'missing', 'a URL'],
  [risk('▸healthCheck:'), 'upstreams.risk.healthCheck', 'no value', 'remove the key'],
  [risk('▸healthCheck: { interval: 1s }'), 'upstreams.risk.healthCheck.path', 'without a path', 'path: /healthz'],
  [risk('healthCheck: { path: /, expect: ▸2xx }'), expected, 'not a range of statuses', 'write 200-299'],
  [risk('healthCheck: { path: /, expect: ▸200 - 299 }'), expected, 'not a range of statuses', 'write 200-299'],
  [risk('healthCheck: { path: /, expect: ▸299-200 }'), expected, 'the wrong way round', 'write 200-299'],
  [risk('healthCheck: { path: /, expect: ▸200-600 }'), expected, 'no such status', 'from 200 to 599'],
  [risk('▸healthCheck: {}'), 'upstreams.risk.healthCheck.path', 'without a path', 'here or in defaults'],
  [risk('retry: { on: [503, 502, ▸503] }'), 'upstreams.risk.retry.on[2]', '503 twice', 'remove one'],
  [risk('retry: { backoff: { base: ▸2s, max: 1s } }'), firstPause, pause, 'at most 1s, which is retry.backoff.max'],
  [risk('retry: { backoff: { max: ▸10ms } }'), 'upstreams.risk.retry.backoff.max', pause, 'at least 25ms, which is'],
  [`${longestPause}\n${risk('retry: { backoff: { base: ▸2s } }')}`, firstPause, pause, 'at most 1s'],
  ['operations: { market.insights: { ▸retry: {} } }', 'operations.market.insights.retry', 'unknown key', 'one of'],
  [risk('tls: { ▸caFile: ca.pem }'), 'upstreams.risk.tls.caFile', 'unknown key', 'one of ca'],
  [risk(`tls: { certificate: ▸${certificate}, key: ${key} }`), 'upstreams.risk.tls.certificate', 'cannot be read'],
  [risk(`tls: { certificate: ${certificate}, key: ▸${encrypted} }`), 'upstreams.risk.tls.key', 'a key with a password'],
  ['defaults: { tls: { verify: ▸false } }', 'defaults.tls.verify', trusted, 'ca: file:PATH'],
  [`${partCheck}\n${risk('healthCheck: { path: / }')}`, 'defaults.healthCheck.path', 'without', 'in every group that'],

  ['listen: { port: 1, ▸port: 2 }', 'listen.port', 'a duplicate key', 'keep one of the two'],
  ['listen: {}\n▸listen: {}', 'listen', 'a duplicate key'],
  ['listen:\n  host: ▸127.0.0.1\n    port: 8080', 'listen.host', 'indented too far', 'what follows this line'],
  ['listen:\n  host: 127.0.0.1\n▸ port: 8080', '', 'wrong indentation', 'indent the lines of one block alike'],
  ['listen:\n  host: ▸"127.0.0.1\n  port: 8080', 'listen.host', 'a quote that is not closed', 'on the same line'],
  ['listen:\n  hosts: ▸[a\n  port: 80', 'listen.hosts', 'a bracket that is not closed', 'further than its key'],
  ['listen:\n  host: "a▸\\q"', 'listen.host', 'an unknown escape in double quotes', 'use single quotes'],
  ['listen:\n  host: !secret ▸x', 'listen.host', 'a tag', 'remove the word with !'],
  ['listen: &a\n  timeouts: ▸*a', 'listen.timeouts', 'an alias inside its own anchor'],
  ['listen:\n  ? ▸[a, b]\n  : 1', 'listen', 'a key that is not a word'],
  ['listen:\n  hosts: [ ▸${NET} ]', 'listen.hosts[0]', 'in { } or [ ] without quotes', 'list with dashes'],
  ['admin: { host: ▸${HOST}, port: 0 }', 'admin.host', 'without quotes', 'quote it'],
  ['admin: { host: ▸a.${HOST:-x}.example }', 'admin.host', 'without quotes', 'quote it'],

  ['listen: { trustedProxies: ["::1", ▸"fe80::/129"] }', 'listen.trustedProxies[1]', 'wrong prefix length', '/128'],
  ['listen: { hosts: [a, ▸"a:0"] }', 'listen.hosts[1]', 'wrong port', '1 to 65535'],
  ['limits: { redis: { sentinels: [▸redis://a:2], name: m } }', 'limits.redis.sentinels[0]', 'not a host', 'HOST:PORT'],
  ['limits: { redis: { sentinels: [▸a], name: m } }', 'limits.redis.sentinels[0]', 'a port is missing', 'a:26379'],
  [redis('name: ▸m'), 'limits.redis.name', 'there are no Sentinels', 'sentinels: [HOST'],
  [redis('cluster: ▸[redis://a]'), 'limits.redis.cluster', 'stated twice', 'remove cluster or url'],
  [redis('password: ▸hunter2', 'redis://u:p@a'), 'limits.redis.password', 'already', 'remove password'],
  [redis('username: ▸u'), 'limits.redis.username', 'without a password', 'password: file:'],
  [redis('tls: ▸{}'), 'limits.redis.tls', 'tls does nothing: the URL has no TLS', 'rediss://'],
  [redis('tls: { ca: ▸hunter2 }', 'rediss://a'), 'limits.redis.tls.ca', 'not a certificate in PEM', 'file:'],
  [`${auth}: [{ id: a, operations: [▸market.insight] }]`, 'clients[0].operations[0]', 'unknown', 'market.insights?'],

  ['admin: { host: ▸0.0.0.0, insecure: true }', 'admin.host', 'would be open to other machines', 'set admin.token'],
  [`admin: { host: ▸0.0.0.0, token: ${token} }`, 'admin.host', 'open to other', 'set admin.tls, or admin.insecure'],
  [`admin: { token: ${token}, metricsToken: ▸${token} }`, 'admin.metricsToken', 'opens everything', 'than admin.token'],
  [tokens(ofAnna, ofBert), 'admin.tokens[1].hash', here, 'the token of admin.tokens[0]'],
  [`admin: { token: ${token}, tokens: [${ofBert}] }`, 'admin.tokens[0].hash', here, 'the token of admin.token'],
  [itsOwnHash, 'admin.tokens[0].hash', here, 'itself, and not its hash'],
  [tokens('{ name: a, hash: ▸short, scope: read }'), 'admin.tokens[0].hash', 'not a SHA-256', 'hash-key --operator'],
  [tokens(ofAnna.replace('anna', '▸10.1.2.3')), 'admin.tokens[0].name', 'an address, and not a name'],
  [tokens(ofAnna.replace('anna', '▸admin.token')), 'admin.tokens[0].name', 'the name of another token'],
  [tokens(ofAnna.replace('anna', '▸"anna b"')), 'admin.tokens[0].name', 'not a name'],
  [tokens(ofAnna.replace('read', '▸write')), 'admin.tokens[0].scope', 'unknown value', 'one of metrics, read, operate'],
  [tls('▸file:nowhere', key), 'admin.tls.certificate', 'no such file'],
  [tls('▸/tls.crt', key), 'admin.tls.certificate', 'not a certificate in PEM', 'file: and the path of a PEM file'],
  [tls(`▸${certificate}`, key), 'admin.tls.certificate', 'a certificate that cannot be read', 'it may be cut short'],
  [tls(certificate, '▸x'), 'admin.tls.key', 'not a private key in PEM'],
  [tls(certificate, `▸${encrypted}`), 'admin.tls.key', 'a key with a password', 'openssl pkey -in KEY -out PLAIN'],
  [tls(certificate, `${key}, ${operators}`), 'admin.tls.clientCertificate.ca', 'missing', 'a certificate'],

  [withRisk(' { endpoints: [http://a, { url: ▸b }] }'), 'upstreams.risk.endpoints[1].url', 'not a URL'],
  [endpoint('weight: ▸"10"'), 'upstreams.risk.endpoints[0].weight', 'a number in quotes', 'write 10, without quotes'],
  [endpoint('weight: ▸10001'), 'upstreams.risk.endpoints[0].weight', 'too large', '10000'],
  [endpoint('weight: ▸-1'), 'upstreams.risk.endpoints[0].weight', 'too small'],
  [endpoint('drain: ▸yes'), 'upstreams.risk.endpoints[0].drain', 'not a boolean', 'write true, without quotes'],
  ...ownFields.map((name): WrongLines => [setOfRisk(`▸${name}: x`), ofSet(name), 'set by the gateway', 'remove']),
  [setOfRisk('▸Host: x'), 'upstreams.risk.request.set.Host', 'Host is set by the gateway', 'use the host key'],
  [setOfRisk('▸"a b": x'), 'upstreams.risk.request.set."…"', 'not a field name'],
  [setOfRisk('▸"": x'), 'upstreams.risk.request.set."…"', 'not a field name'],
  [setOfRisk('▸X-A:'), 'upstreams.risk.request.set.X-A', 'not a string'],
  [setOfRisk('▸X-Request-Id: x'), 'upstreams.risk.request.set.X-Request-Id', 'the request id', 'requestId.header'],
  [`requestId: { header: X-Id }\n${setOfRisk('▸x-id: x')}`, 'upstreams.risk.request.set.x-id', 'the request id'],
  [risk(`candidate: { endpoints: [http://a], request: { set: { ▸x_request_id: a } } }`), ofCandidate, 'the request id'],
  [`${identity}\n${setOfRisk('▸X_Id: a')}`, 'upstreams.risk.request.set.X_Id', 'tells upstreams the', 'auth.identity'],
  [setOfRisk('X-A: a, x-a: ▸b'), 'upstreams.risk.request.set.x-a', 'in two spellings', 'remove one'],
  [setOfRisk('X_Key: a, X-Key: ▸b'), 'upstreams.risk.request.set.X-Key', 'listed twice'],
  [risk('response: { set: { X-A: a, x-a: ▸b } }'), 'upstreams.risk.response.set.x-a', 'listed twice'],
  ['tracing: { otlp: "http://a/v", headers: { X-Key: a, x_key: ▸b } }', 'tracing.headers.x_key', 'listed twice'],

  ...['127.0.0.9', '[::1]', 'localhost', '[::]'].map((host): WrongLines => {
    const listen = `${open}\nlisten: { host: '::' }`
    return [`${listen}\n${withRisk(` ▸http://${host}:8080`)}`, 'upstreams.risk', own]
  }),
  [`${open}\nlisten: { host: 0.0.0.0, port: 80 }\n${withRisk(' ▸http://127.0.0.1')}`, 'upstreams.risk', own],
  [`${open}\nlisten: { host: gw.internal, port: 443 }\n${withRisk(' ▸https://GW.internal')}`, 'upstreams.risk', own],
  [withRisk('\n    endpoints:\n    - http://a\n    - ▸url: http://localhost:8080'), 'upstreams.risk.endpoints[1]', own],
  [`${open}\nlisten: { host: 0.0.0.0 }\nadmin: { host: localhost, port: ▸8080 }`, 'admin.port', 'has the address of'],
  ['▸shutdown: { wait: 30s }', 'shutdown.deadline', 'the deadline ends before the wait'],
]

/** Whole files: nothing is added to them. */
const files: readonly WrongLines[] = [
  ['▸', '', 'the file is empty', 'a map with the key upstreams'],
  ['▸# only a comment\n', '', 'the file is empty'],
  ['▸- a list', '', 'the wrong kind of value', 'a map'],
  ['listen:\n▸\tport: 1', 'listen', 'a tab in the indentation', 'indent with spaces'],
  ['version: 1\n▸---\nversion: 1', '', 'a second document', 'remove --- and what follows it'],
  [`▸%YAML 1.1\n---\n${sandbox}`, '', 'a YAML directive', 'remove'],
  ['▸version: 1', 'upstreams', 'missing', 'a map'],
  ['▸upstreams:', 'upstreams', 'no value', 'a map'],
  ['upstreams: ▸sandbox', 'upstreams', 'the wrong kind of value', 'a map'],
  [`▸${withRisk(' sandbox').replace('  leads: sandbox\n', '')}`, 'upstreams.leads', 'missing', 'sandbox'],
  [withRisk(' sandbox\n  leads: sandbox').replace('leads', '▸lead'), 'upstreams.lead', 'did you mean "leads"?'],
  [withRisk(' sandbox').replace('  leads: ', '  ▸leads '), 'upstreams', 'a key over several lines', 'a missing colon'],
]

/** Puts a value under keys that are divided by blanks; `[0]` is the first item of a list. */
const put = (keys: string, value: string): string => {
  const path = keys.split(' ')
  const nest = (from: number): string => {
    const heads = path.slice(from).map((key, i) => `\n${'  '.repeat(from + i)}${key === '[0]' ? '-' : `${key}:`}`)
    return `${heads.join('')} ▸${value}`
  }
  if (path[0] !== 'upstreams') return `${nest(0)}\n${sandbox}`.trimStart()
  const hasEndpoints = path.length === 2 || path[2] === 'endpoints'
  return withRisk(hasEndpoints ? nest(2) : `\n    endpoints: [https://risk.internal]${nest(2)}`)
}

const expectProblem = (marked: string, path: string, message: string, remedy = ''): void => {
  const before = marked.slice(0, marked.indexOf('▸')).split('\n')

  const problems = findProblems(marked.replace('▸', ''))

  const [line, column] = [before.length, (before.at(-1)?.length ?? 0) + 1]
  expect(problems).toMatchObject([
    { file: 'gateway.yaml', line, column, path, message: expect.stringContaining(message) },
  ])
  const [problem] = problems
  expect(`${problem?.expected}\n${problem?.found}\n${problem?.hint}`).toContain(remedy)
  expect(JSON.stringify(problems)).not.toContain('hunter2')
}

test.each(values)('a value is rejected where it stands: %s: %s', (keys, value, message, remedy) => {
  expectProblem(put(keys, value), keys.replace(/ \[/g, '[').replaceAll(' ', '.'), message, remedy)
})

test.each(lines)('lines are rejected where they are wrong: %s', (text, ...problem) => {
  expectProblem(text.includes('upstreams') ? text : `${text}\n${sandbox}`, ...problem)
})

test.each(files)('a file is rejected where it is broken: %s', (text, ...problem) => {
  expectProblem(text, ...problem)
})

test('an address in brackets is quoted: it is no JSON', () => {
  expect(findProblems(put('listen host', '"[::1]"').replace('▸', ''))).toMatchObject([{ found: '"[::1]"' }])
})
