// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
import { describe, expect, test } from 'vitest'
import { findProblems, sandbox, withRisk } from '../../core/config/helper.ts'

/** A broken file, with ▸ where the problem is, then the key path, the message, and the hint or the expectation. */
type Case = readonly [text: string, path: string, message: string, remedy?: string]

const sha256 = 'ab12'.repeat(16)
const top = (...lines: readonly string[]): string => [...lines, sandbox].join('\n')
const risk = (url: string): string => withRisk(` ${url}`)
const riskKeys = (...lines: readonly string[]): string =>
  withRisk(['', 'endpoints: [http://risk.internal]', ...lines].join('\n    '))
const riskRequest = (...lines: readonly string[]): string => riskKeys('request:', ...lines.map((line) => `  ${line}`))
const operation = (...lines: readonly string[]): string => [sandbox, 'operations:', ...lines].join('\n')

const [certificate, key] = ['"-----BEGIN CERTIFICATE-----"', '"-----BEGIN PRIVATE KEY-----"']

const syntax: readonly Case[] = [
  ['▸', '', 'the file is empty', 'a map'],
  ['▸# only a comment\n', '', 'the file is empty'],
  ['▸- a list', '', 'the wrong kind of value', 'a map'],
  ['listen:\n▸\tport: 1', 'listen', 'a tab in the indentation', 'spaces'],
  ['version: 1\n▸---\nversion: 1', '', 'a second document', 'a file is one document'],
  [`▸%YAML 1.1\n---\n${sandbox}`, '', 'a YAML directive', 'remove'],
  [top('listen:', '  port: 1', '  ▸port: 2'), 'listen.port', 'a key that stands here already', 'keep one'],
  [top('▸listen: {}').replace('▸listen: {}', 'listen: {}\n▸listen: {}'), 'listen', 'a key that stands here already'],
  [top('listen:', '  host: !secret ▸x'), 'listen.host', 'a tag', 'remove'],
  [top('listen:', '  port: ▸*nowhere'), 'listen.port', 'an alias without an anchor'],
  [top('listen: &a', '  timeouts: ▸*a'), 'listen.timeouts', 'an alias inside its own anchor'],
  [top('listen:', '  ▸? [a, b]', '  : 1').replace('▸? [', '? ▸['), 'listen', 'a key that is not a word'],
  [top('listen:', '  host: "a▸\\q"'), 'listen.host', 'an unknown escape', 'single quotes'],
  [top('listen:', '  host: ▸a: b'), 'listen.host', 'a second colon', 'quote'],
  [top('listen:', '  ▸__proto__: 1'), 'listen.__proto__', 'unknown key', 'remove'],
  [top('▸<<: { version: 1 }'), '"<<"', 'unknown key'],
  [top('listen:', '  trustedProxies: [ ▸${NET} ]'), 'listen.trustedProxies[0]', 'without quotes', 'list with dashes'],
  [top('admin: { host: ▸${HOST}, port: 0 }'), 'admin.host', 'without quotes', 'quote it'],
  [top('admin: { host: ▸a.${HOST:-x}.example }'), 'admin.host', 'without quotes', 'quote it'],
]

const environment: readonly Case[] = [
  [top('listen:', '  host: ▸${HOST}'), 'listen.host', 'HOST is not set', 'write ${HOST:-default}'],
  [top('listen:', '  host: ▸"a.${HOST}"'), 'listen.host', 'HOST is not set'],
  [top('listen:', '  port: ▸${lower-case}'), 'listen.port', 'a placeholder that is not understood', 'literal ${'],
  [top('listen:', '  port: ▸${PORT'), 'listen.port', 'a placeholder that is not understood'],
  [top('listen:', '  port: ▸${PORT:-eighty}'), 'listen.port', 'not a number'],
  [top('listen:', '  port: ▸"1${PORT:-2}"'), 'listen.port', 'a number in quotes'],
  [top('▸listen: "${LISTEN:-x}"').replace('▸listen: ', 'listen: ▸'), 'listen', 'the wrong kind of value', 'a map'],
]

const rates = (line: string): string => top('limits:', '  address:', `    ${line}`)
const byRedis = (line: string, ...more: readonly string[]): string => top('limits:', '  redis:', `    ${line}`, ...more)

const limits: readonly Case[] = [
  [rates('rate: ▸100'), 'limits.address.rate', 'not a rate', 'write 100/s'],
  [rates('rate: ▸5 per minute'), 'limits.address.rate', 'not a rate', 'write 5/min'],
  [rates('rate: ▸5/h'), 'limits.address.rate', 'not a rate', '1/min'],
  [rates('rate: ▸0/s'), 'limits.address.rate', 'too small'],
  [rates('rate: ▸1000001/s'), 'limits.address.rate', 'too large'],
  [top('limits:', '  address: ▸off'), 'limits.address', 'not a policy', 'none'],
  [byRedis('url: ▸http://redis'), 'limits.redis.url', 'not a URL of Redis', 'redis://'],
  [byRedis('url: ▸redis://:hunter2@redis/x'), 'limits.redis.url', 'a path that is no number', 'write /0'],
  [byRedis('url: ▸redis://:hunter2%@redis'), 'limits.redis.url', 'broken percent-encoding'],
  [byRedis('url: ▸"redis://:hunter2@redis?x=1"'), 'limits.redis.url', 'a URL with a query'],
  [
    byRedis('cluster: [ ▸"redis://:hunter2@redis" ]'),
    'limits.redis.cluster[0]',
    'a name or a password',
    'password: file:',
  ],
  [byRedis('cluster: [ ▸redis://redis/1 ]'), 'limits.redis.cluster[0]', 'database 0', 'remove the path'],
  [byRedis('cluster: ▸[redis://a, rediss://b]'), 'limits.redis.cluster', 'some nodes with TLS', 'same way'],
  [
    byRedis('sentinels: [ ▸redis://a:26379 ]', '    name: m'),
    'limits.redis.sentinels[0]',
    'not a host and',
    'HOST:PORT',
  ],
  [byRedis('sentinels: [ ▸a ]', '    name: m'), 'limits.redis.sentinels[0]', 'a port is missing', 'a:26379'],
  [byRedis('sentinels: ▸[a:26379]'), 'limits.redis.sentinels', 'no name of the master', 'name: mymaster'],
  [byRedis('url: redis://a', '    name: ▸m'), 'limits.redis.name', 'there are no Sentinels', 'sentinels: [HOST'],
  [
    byRedis('url: redis://a', '    cluster: ▸[redis://a]'),
    'limits.redis.cluster',
    'in one place',
    'remove cluster or url',
  ],
  [top('limits:', '  redis: ▸{ prefix: a }'), 'limits.redis', 'where Redis is', 'add url'],
  [byRedis('url: redis://u:p@a', '    password: ▸hunter2'), 'limits.redis.password', 'already', 'remove password'],
  [byRedis('url: redis://a', '    username: ▸u'), 'limits.redis.username', 'without a password', 'password: file:'],
  [byRedis('url: redis://a', '    tls: ▸{}'), 'limits.redis.tls', 'there is no TLS', 'rediss://'],
  [byRedis('url: rediss://a', '    tls: { ca: ▸hunter2 }'), 'limits.redis.tls.ca', 'not a certificate in PEM', 'file:'],
  [top('limits:', '  redis: ▸redis://:hunter2@redis'), 'limits.redis', 'not a policy', 'url: file:'],
  [top('limits:', '  redis: ▸[]'), 'limits.redis', 'the wrong kind of value', 'none, or a map such as { url: '],
]

const keys: readonly Case[] = [
  [top('▸lisen: {}'), 'lisen', 'did you mean "listen"?'],
  [top('▸Listen: {}'), 'Listen', 'did you mean "listen"?'],
  [top('▸zzz: 1'), 'zzz', 'unknown key', 'remove it'],
  [top('listen:', '  ▸prot: 80'), 'listen.prot', 'did you mean "port"?'],
  [top('listen:', '  ▸base_path: /x'), 'listen.base_path', 'did you mean "basePath"?'],
  [riskKeys('▸hosts: client'), 'upstreams.risk.hosts', 'did you mean "host"?'],
  [riskKeys('response:', '  ▸add: {}'), 'upstreams.risk.response.add', 'unknown key', 'set, remove'],
  [
    withRisk('\n    endpoints:\n      - url: http://a\n        ▸wieght: 1'),
    'upstreams.risk.endpoints[0].wieght',
    'did you mean "weight"?',
  ],
  [withRisk(' sandbox\n  ▸risks: sandbox'), 'upstreams.risks', 'did you mean "risk"?'],
  [operation('  ▸valuation.scores: {}'), 'operations.valuation.scores', 'did you mean "valuation.score"?'],
  [operation('  ▸/market/insights: {}'), 'operations."/market/insights"', 'did you mean "market.insights"?'],
  [
    operation('  market.insights:', '    ▸dedline: 1s'),
    'operations.market.insights.dedline',
    'did you mean "deadline"?',
  ],
  [
    operation('  market.insights:', '    ▸timeouts: {}'),
    'operations.market.insights.timeouts',
    'unknown key',
    'deadline',
  ],
]

const missing: readonly Case[] = [
  ['▸version: 1', 'upstreams', 'missing', 'a map'],
  ['▸upstreams:', 'upstreams', 'no value', 'a map'],
  [
    withRisk(' sandbox').replace('upstreams', '▸upstreams').replace('  leads: sandbox\n', ''),
    'upstreams.leads',
    'missing',
    'sandbox',
  ],
  [withRisk('').replace('risk', '▸risk'), 'upstreams.risk', 'no value', 'a URL'],
  [
    withRisk(' { }').replace('risk: {', 'risk: ▸{').replace('▸{', '{').replace('risk', '▸risk'),
    'upstreams.risk.endpoints',
    'missing',
    'a list',
  ],
  [withRisk('\n    ▸endpoints:\n'), 'upstreams.risk.endpoints', 'no value', 'a list'],
  [withRisk('\n    endpoints: ▸[]'), 'upstreams.risk.endpoints', 'the list is empty', 'add a URL'],
  [withRisk('\n    endpoints:\n      - ▸weight: 5'), 'upstreams.risk.endpoints[0].url', 'missing', 'a URL'],
  [top('▸listen:'), 'listen', 'no value', 'remove the key'],
  [top('listen:', '  ▸port:'), 'listen.port', 'no value', 'a whole number'],
]

const kinds: readonly Case[] = [
  [top('listen: ▸8080'), 'listen', 'the wrong kind of value', 'a map'],
  [top('listen:', '  port: ▸[80]'), 'listen.port', 'the wrong kind of value', 'a whole number'],
  [
    top('listen:', '  trustedProxies: ▸10.0.0.0/8'),
    'listen.trustedProxies',
    'the wrong kind of value',
    'write [10.0.0.0/8]',
  ],
  [top('listen:', '  host: ▸true'), 'listen.host', 'the wrong kind of value', 'an IP address'],
  ['upstreams: ▸sandbox', 'upstreams', 'the wrong kind of value', 'a map'],
  [withRisk(' ▸[http://a]'), 'upstreams.risk', 'the wrong kind of value', 'or a map'],
  [withRisk('\n    endpoints: ▸http://a'), 'upstreams.risk.endpoints', 'the wrong kind of value', 'a list'],
  [
    top('admin:', '  tokens:', `    ▸{ name: anna, hash: ${sha256}, scope: read }`),
    'admin.tokens',
    'the wrong kind of value',
    'begin each entry of the list with "- "',
  ],
  [withRisk('\n    endpoints: [▸1]'), 'upstreams.risk.endpoints[0]', 'the wrong kind of value', 'a URL'],
  [riskRequest('remove: ▸Cookie'), 'upstreams.risk.request.remove', 'the wrong kind of value', 'a list'],
  [operation('  market.insights: ▸refuse'), 'operations.market.insights', 'the wrong kind of value', 'a map'],
]

const scalars: readonly Case[] = [
  [top('version: ▸2'), 'version', 'unknown version', 'write 1'],
  [top('version: ▸"1"'), 'version', 'unknown version', 'without quotes'],
  [top('allowSandbox: ▸yes'), 'allowSandbox', 'not a boolean', 'write true'],
  [top('workers: ▸0'), 'workers', 'too small', 'write at least 1'],
  [top('workers: ▸"2"'), 'workers', 'a number in quotes', 'write 2, without quotes'],
  [top('workers: ▸Auto'), 'workers', 'unknown value', 'write auto'],
  [top('workers: ▸none'), 'workers', 'not a number', 'cannot be turned off'],
  [top('allowSandbox: ▸"true"'), 'allowSandbox', 'not a boolean', 'without quotes'],
  [top('requestId:', '  header: ▸"X Request"'), 'requestId.header', 'not a field name'],
  [top('requestId:', '  header: ▸Connection'), 'requestId.header', 'set by the gateway'],
  [top('listen:', '  port: ▸"8080"'), 'listen.port', 'a number in quotes', 'write 8080, without quotes'],
  [top('listen:', '  port: ▸65536'), 'listen.port', 'too large', '65535'],
  [top('listen:', '  port: ▸80.5'), 'listen.port', 'not a whole number'],
  [top('listen:', '  port: ▸http'), 'listen.port', 'not a number'],
  [top('listen:', '  host: ▸"*"'), 'listen.host', 'not an address', '0.0.0.0'],
  [top('listen:', '  host: ▸localhost:80'), 'listen.host', 'not an address', 'its own key'],
  [top('listen:', '  host: ▸"[::1]"'), 'listen.host', 'not an address', 'without brackets'],
  [top('listen:', '  basePath: ▸lender'), 'listen.basePath', 'not an absolute path', 'write /lender'],
  [top('listen:', '  basePath: ▸/a//b'), 'listen.basePath', 'empty segment'],
  [top('listen:', '  basePath: ▸/a/../b'), 'listen.basePath', 'dot segment'],
  [top('listen:', '  basePath: ▸"/a b"'), 'listen.basePath', 'must be encoded', '%20'],
  [top('listen:', '  trustedProxies:', '    - ▸10.0.0.0/33'), 'listen.trustedProxies[0]', 'wrong prefix length', '/32'],
  [
    top('listen:', '  trustedProxies: ["::1", ▸"fe80::/129"]'),
    'listen.trustedProxies[1]',
    'wrong prefix length',
    '/128',
  ],
  [top('listen:', '  trustedProxies:', '    - ▸proxy.internal'), 'listen.trustedProxies[0]', 'not an address', 'CIDR'],
  [top('listen:', '  forwarded: ▸forwarded'), 'listen.forwarded', 'unknown value', 'rfc7239'],
  [top('listen:', '  proxyProtocol: ▸true'), 'listen.proxyProtocol', 'the wrong kind of value', 'a map'],
  [top('listen:', '  ▸proxyProtocol: {}'), 'listen.proxyProtocol.from', 'missing', 'a list'],
  [top('listen:', '  proxyProtocol: { from: ▸[] }'), 'listen.proxyProtocol.from', 'the list is empty', 'add one'],
  [
    top('listen:', '  proxyProtocol: { from: ▸10.0.0.0/28 }'),
    'listen.proxyProtocol.from',
    'the wrong kind of value',
    'write [10.0.0.0/28]',
  ],
  [
    top('listen:', '  proxyProtocol: { from: [▸elb.internal] }'),
    'listen.proxyProtocol.from[0]',
    'not an address',
    'CIDR',
  ],
  [top('listen:', '  hosts: [▸"http://a"]'), 'listen.hosts[0]', 'not a host', 'the name alone'],
  [top('listen:', '  hosts: [▸"*.example"]'), 'listen.hosts[0]', 'not a host', 'no wildcards'],
  [top('listen:', '  hosts: [▸"::1"]'), 'listen.hosts[0]', 'not a host', 'in brackets'],
  [top('listen:', '  hosts: [▸"a b"]'), 'listen.hosts[0]', 'not a host'],
  [top('listen:', '  hosts: [a, ▸"a:0"]'), 'listen.hosts[1]', 'wrong port', '1 to 65535'],
  [top('listen:', '  minRate: ▸1KiB'), 'listen.minRate', 'not a rate', 'write 1KiB/s'],
  [top('listen:', '  minRate: ▸240'), 'listen.minRate', 'a unit is missing', 'write 240B/s'],
  [top('listen:', '  minRate: ▸0B/s'), 'listen.minRate', 'too small', '1B/s'],
  [top('listen:', '  minRate: ▸off'), 'listen.minRate', 'not a rate', 'write none'],
  [top('listen:', '  via: ▸a gateway'), 'listen.via', 'not a token'],
  [top('listen:', '  maxTarget: ▸8192'), 'listen.maxTarget', 'a unit is missing', 'write 8KiB'],
  [top('listen:', '  maxTarget: ▸128KiB'), 'listen.maxTarget', 'too large', '64KiB'],
  [top('listen:', '  maxHeaders: ▸2MiB'), 'listen.maxHeaders', 'too large', '1MiB'],
  [top('listen:', '  maxHeaderFields: ▸0'), 'listen.maxHeaderFields', 'too small', '1'],
  [top('listen:', '  maxConnections: ▸off'), 'listen.maxConnections', 'not a number', 'write none'],
  [top('listen:', '  timeouts:', '    headers: ▸none'), 'listen.timeouts.headers', 'not a duration'],
  [top('listen:', '  timeouts:', '    body: ▸0s'), 'listen.timeouts.body', 'too small', '1ms'],
  [top('admin:', '  port: ▸99999'), 'admin.port', 'too large'],
  [top('admin:', '  token: ▸short'), 'admin.token', 'too short', 'openssl rand'],
  [top('admin:', '  token: ▸"a token with blanks in it"'), 'admin.token', 'not a token', 'openssl rand'],
  [top('admin:', '  token: ▸12345678901234567890'), 'admin.token', 'not text', 'quotes'],
  [
    top('admin:', `  tokens: [{ name: anna, hash: ▸short, scope: read }]`),
    'admin.tokens[0].hash',
    'not a SHA-256',
    'hash-key --operator',
  ],
  [
    top('admin:', `  tokens: [{ name: ▸10.1.2.3, hash: ${sha256}, scope: read }]`),
    'admin.tokens[0].name',
    'an address, and not a name',
  ],
  [
    top('admin:', `  tokens: [{ name: ▸admin.token, hash: ${sha256}, scope: read }]`),
    'admin.tokens[0].name',
    'the name of another token',
  ],
  [
    top('admin:', `  tokens: [{ name: ▸"anna b", hash: ${sha256}, scope: read }]`),
    'admin.tokens[0].name',
    'not a name',
  ],
  [
    top('admin:', `  tokens: [{ name: anna, hash: ${sha256}, scope: ▸write }]`),
    'admin.tokens[0].scope',
    'unknown value',
    'metrics, read, operate',
  ],
  [top('admin:', '  token: ▸file:nowhere'), 'admin.token', 'no such file', 'readable'],
  [
    top('admin:', '  tls:', '    certificate: ▸file:nowhere', `    key: ${key}`),
    'admin.tls.certificate',
    'no such file',
  ],
  [
    top('admin:', '  tls:', `    certificate: ${certificate}`, '    key: ▸x'),
    'admin.tls.key',
    'not a private key in PEM',
  ],
  [
    top('admin:', '  tls:', `    certificate: ▸${certificate}`, `    key: ${key}`),
    'admin.tls.certificate',
    'a certificate that cannot be read',
    'cut short',
  ],
  [top('listen:', '  http2: ▸true'), 'listen.http2', 'ALPN', 'listen.tls'],
  [top('admin:', '  ▸tls:', `    certificate: ${certificate}`), 'admin.tls.key', 'missing'],
  [top('admin:', '  host: ▸0.0.0.0', '  token: a-token-of-an-operator'), 'admin.host', 'open to other', 'admin.tls'],
  [top('admin:', '  host: ▸0.0.0.0', '  insecure: true'), 'admin.host', 'open to other', 'admin.token'],
  [
    top('listen:', `  trustedProxies: ▸[${Array(1001).fill('10.0.0.1').join(', ')}]`),
    'listen.trustedProxies',
    'too many entries',
    'at most 1000',
  ],
  [
    riskKeys(`request: { remove: ▸[${Array(101).fill('X-A').join(', ')}] }`),
    'upstreams.risk.request.remove',
    'too many entries',
    'at most 100',
  ],
  [
    riskKeys(`request: { set: ▸{ ${Array.from({ length: 101 }, (_, i) => `X-${i}: a`).join(', ')} } }`),
    'upstreams.risk.request.set',
    'too many fields',
    'at most 100',
  ],
  [
    withRisk(`\n    endpoints: ▸[${Array(257).fill('sandbox').join(', ')}]`),
    'upstreams.risk.endpoints',
    'too many entries',
    'at most 256',
  ],
  [top('reload:', '  poll: ▸5'), 'reload.poll', 'a unit is missing', 'write 5s'],
  [top('log:', '  level: ▸INFO'), 'log.level', 'unknown value', 'write info'],
  [
    top('defaults:', '  timeouts:', '    headers: ▸1.5s'),
    'defaults.timeouts.headers',
    'not a duration',
    'write 1500ms',
  ],
  [top('defaults:', '  timeouts:', '    body: ▸25h'), 'defaults.timeouts.body', 'too large', '24h'],
  [top('defaults:', '  deadline: ▸never'), 'defaults.deadline', 'not a duration', 'write none'],
  [top('defaults:', '  keepAlive: ▸true'), 'defaults.keepAlive', 'the wrong kind of value', 'a duration'],
  [top('defaults:', '  maxBody: ▸64MB'), 'defaults.maxBody', 'not a size', 'write 64MiB'],
  [top('defaults:', '  maxBody: ▸2TiB'), 'defaults.maxBody', 'too large', '1TiB'],
  [top('defaults:', '  maxConnections: ▸none'), 'defaults.maxConnections', 'not a number'],
  [operation('  inventory.sync:', '    state: ▸off'), 'operations.inventory.sync.state', 'unknown value', 'refuse'],
  [
    operation('  inventory.sync:', '    state: ▸serv'),
    'operations.inventory.sync.state',
    'unknown value',
    'did you mean serve?',
  ],
  [
    top('auth: { methods: [apiKey] }', 'clients: [{ id: a, operations: [▸market.insight] }]'),
    'clients[0].operations[0]',
    'unknown value',
    'did you mean market.insights?',
  ],
  [
    operation('  inventory.sync:', '    idempotent: ▸true'),
    'operations.inventory.sync.idempotent',
    'part of idempotency now',
    'write idempotency: { onUnknown: forward }',
  ],
  [
    operation('  inventory.sync:', '    cache: ▸true'),
    'operations.inventory.sync.cache',
    'only GET operations',
    'remove',
  ],
  [operation('  market.insights:', '    cache: ▸60s'), 'operations.market.insights.cache', 'neither true nor false'],
]

const endpoints: readonly Case[] = [
  [risk('▸risk.internal:8080'), 'upstreams.risk', 'not a URL', 'put http://'],
  [risk('▸sandboxx'), 'upstreams.risk', 'not a URL', 'sandbox'],
  [risk('▸ftp://risk.internal'), 'upstreams.risk', 'unknown scheme', 'https://'],
  [risk('▸http://a:b@risk.internal'), 'upstreams.risk', 'a user name or password', 'request.set'],
  [risk('▸http://risk.internal?a=1'), 'upstreams.risk', 'a URL with a query'],
  [risk('▸"http://risk.internal/#a"'), 'upstreams.risk', 'a URL with a fragment'],
  [risk('▸http://risk.internal:0'), 'upstreams.risk', 'wrong port', '1 to 65535'],
  [risk('▸http://risk.internal:70000'), 'upstreams.risk', 'wrong port'],
  [risk('▸http://risk.internal:http'), 'upstreams.risk', 'not a host and port'],
  [risk('▸http://'), 'upstreams.risk', 'not a host and port'],
  [risk('▸http:///path'), 'upstreams.risk', 'not a host and port'],
  [risk('▸http://::1:80'), 'upstreams.risk', 'not a host and port', 'brackets'],
  [risk('▸http://[::g]'), 'upstreams.risk', 'not a host and port'],
  [risk('▸http://1.2.3.999'), 'upstreams.risk', 'not a host name'],
  [risk('▸http://bücher.example'), 'upstreams.risk', 'not a plain host name', 'xn--'],
  [risk('▸http://risk.internal/a/../b'), 'upstreams.risk', 'dot segment'],
  [risk('▸http://risk.internal/%2e%2E/b'), 'upstreams.risk', 'dot segment'],
  [risk('▸http://risk.internal/a//b'), 'upstreams.risk', 'empty segment'],
  [risk('▸http://risk.internal/ä'), 'upstreams.risk', 'must be encoded'],
  [risk('▸http://risk.internal/%zz'), 'upstreams.risk', 'must be encoded'],
  [risk('▸http:\\\\risk.internal'), 'upstreams.risk', 'not a URL'],
  [withRisk('\n    endpoints:\n      - http://a\n      - url: ▸b'), 'upstreams.risk.endpoints[1].url', 'not a URL'],
  [
    withRisk('\n    endpoints:\n      - url: http://a\n        weight: ▸"10"'),
    'upstreams.risk.endpoints[0].weight',
    'a number in quotes',
    'write 10',
  ],
  [
    withRisk('\n    endpoints:\n      - url: http://a\n        weight: ▸10001'),
    'upstreams.risk.endpoints[0].weight',
    'too large',
    '10000',
  ],
  [
    withRisk('\n    endpoints:\n      - url: http://a\n        weight: ▸-1'),
    'upstreams.risk.endpoints[0].weight',
    'too small',
  ],
  [
    withRisk('\n    endpoints: ▸[{ url: http://a, weight: 0 }]'),
    'upstreams.risk.endpoints',
    'no endpoint has a weight',
    '1 or more',
  ],
  [
    withRisk('\n    endpoints: ▸[{ url: http://a, drain: true }, { url: http://b, weight: 0 }]'),
    'upstreams.risk.endpoints',
    'no endpoint takes work',
    'state: refuse',
  ],
  [
    withRisk('\n    endpoints:\n      - url: http://a\n        drain: ▸yes'),
    'upstreams.risk.endpoints[0].drain',
    'not a boolean',
    'write true',
  ],
  [riskKeys('host: ▸http://risk.internal'), 'upstreams.risk.host', 'not a host', 'without http://'],
  [riskKeys('host: ▸1'), 'upstreams.risk.host', 'the wrong kind of value', 'client'],
]

const fields: readonly Case[] = [
  ...[
    'Content-Length',
    'transfer-encoding',
    'Connection',
    'Keep-Alive',
    'TE',
    'Trailer',
    'Upgrade',
    'HTTP2-Settings',
    'Proxy-Authorization',
    'Expect',
    'Via',
    'X-Forwarded-For',
    'X-Forwarded-Proto',
    'X-Forwarded-Host',
    'X_Forwarded_For',
    'Content_Length',
  ].map(
    (name): Case => [
      riskRequest('set:', `  ▸${name}: x`),
      `upstreams.risk.request.set.${name}`,
      'set by the gateway',
      'remove',
    ],
  ),
  ...['content-length', 'Connection', 'Via', 'TE', 'Proxy-Authenticate', 'Proxy-Authentication-Info'].map(
    (name): Case => [
      riskKeys('response:', `  remove: [X-A, ▸${name}]`),
      'upstreams.risk.response.remove[1]',
      'set by the gateway',
    ],
  ),
  [riskRequest('set:', '  ▸Host: x'), 'upstreams.risk.request.set.Host', 'set by the gateway', 'the host key'],
  [riskRequest('remove: [▸host]'), 'upstreams.risk.request.remove[0]', 'set by the gateway', 'the host key'],
  [riskRequest('remove: [▸"a b"]'), 'upstreams.risk.request.remove[0]', 'not a field name'],
  [riskRequest('set:', '  ▸"a b": x'), 'upstreams.risk.request.set."…"', 'not a field name'],
  [riskRequest('set:', '  ▸"": x'), 'upstreams.risk.request.set."…"', 'not a field name'],
  [
    riskRequest('set:', '  ▸X-Request-Id: x'),
    'upstreams.risk.request.set.X-Request-Id',
    'carries the request id',
    'requestId.header',
  ],
  [riskKeys('response:', '  remove: [▸x-request-id]'), 'upstreams.risk.response.remove[0]', 'carries the request id'],
  [riskRequest('remove: [▸X_Forwarded_For]'), 'upstreams.risk.request.remove[0]', 'set by the gateway'],
  [riskRequest('remove: [▸X_Request_Id]'), 'upstreams.risk.request.remove[0]', 'carries the request id'],
  [
    `${riskKeys('candidate:', '  endpoints: [http://a]', '  request: { set: { ▸x_request_id: a } }')}`,
    'upstreams.risk.candidate.request.set.x_request_id',
    'carries the request id',
  ],
  [
    `auth: { methods: [apiKey], identityField: X-Client-Id }\nclients: [{ id: a, operations: all }]\n${riskRequest('set: { ▸X_Client_Id: a }')}`,
    'upstreams.risk.request.set.X_Client_Id',
    'tells upstreams the client',
    'auth.identityField',
  ],
  [
    `requestId: { header: X-Id }\n${riskRequest('set:', '  ▸x-id: x')}`,
    'upstreams.risk.request.set.x-id',
    'carries the request id',
  ],
  [
    riskRequest('set: { Authorization: a, authorization: ▸b }'),
    'upstreams.risk.request.set.authorization',
    'set here already, in another spelling',
    'remove one of them',
  ],
  [riskRequest('set: { X_Key: a, X-Key: ▸b }'), 'upstreams.risk.request.set.X-Key', 'set here already'],
  [riskKeys('response: { set: { X-A: a, x-a: ▸b } }'), 'upstreams.risk.response.set.x-a', 'set here already'],
  [
    top('tracing: { otlp: "http://a/v1/traces", headers: { X-Key: a, x_key: ▸b } }'),
    'tracing.headers.x_key',
    'set here already',
  ],
  [riskRequest('set:', '  X-A: ▸1'), 'upstreams.risk.request.set.X-A', 'not a string', 'in quotes'],
  [riskRequest('set:', '  X-A: ▸[a]'), 'upstreams.risk.request.set.X-A', 'not a string'],
  [riskRequest('set:', '  ▸X-A:'), 'upstreams.risk.request.set.X-A', 'not a string'],
  [riskRequest('set:', '  X-A: ▸"a\\r\\nX-B: b"'), 'upstreams.risk.request.set.X-A', 'a control character'],
  [riskRequest('set:', '  X-A: ▸"a\\0"'), 'upstreams.risk.request.set.X-A', 'a control character'],
  [riskRequest('set:', '  X-A: ▸"€"'), 'upstreams.risk.request.set.X-A', 'beyond U+00FF'],
  [riskRequest('set:', '  X-A: ▸" a"'), 'upstreams.risk.request.set.X-A', 'blanks'],
  [riskRequest('set:', '  X-A: ▸file:no/such/file'), 'upstreams.risk.request.set.X-A', 'no such file', 'readable'],
  [riskRequest('set:', '  X-A: ▸"file:"'), 'upstreams.risk.request.set.X-A', 'a directory'],
]

const across: readonly Case[] = [
  ...[
    '127.0.0.1',
    'localhost',
    'LOCALHOST.',
    'api.localhost',
    '0.0.0.0',
    '[::ffff:127.0.0.1]',
    '127.1',
    '0x7f000001',
  ].map(
    (host): Case => [
      risk(`▸http://${host}:8080/p`),
      'upstreams.risk',
      "the gateway's own public listener",
      'listen.port',
    ],
  ),
  ...['127.0.0.9', '[::1]', 'localhost', '[::]'].map(
    (host): Case => [
      `listen: { host: "::", port: 8080 }\nallowSandbox: true\n${risk(`▸http://${host}:8080`)}`,
      'upstreams.risk',
      "the gateway's own public listener",
    ],
  ),
  [
    `listen: { host: 0.0.0.0, port: 80 }\nallowSandbox: true\n${risk('▸http://127.0.0.1')}`,
    'upstreams.risk',
    'own public listener',
  ],
  [
    `listen: { host: gw.internal, port: 443 }\nallowSandbox: true\n${risk('▸https://GW.internal')}`,
    'upstreams.risk',
    'own public listener',
  ],
  [risk('▸http://127.0.0.1:9901'), 'upstreams.risk', "the gateway's own admin listener", 'admin.port'],
  [
    withRisk('\n    endpoints:\n      - http://a\n      - url: ▸http://localhost:8080').replace('url: ▸', '▸url: '),
    'upstreams.risk.endpoints[1]',
    'own public listener',
  ],
  [top('admin:', '  port: ▸8080'), 'admin.port', 'on the address of the public one', 'another port'],
  [
    top('allowSandbox: true', 'listen: { host: 0.0.0.0, port: 80 }', 'admin: { host: localhost, port: ▸80 }'),
    'admin.port',
    'on the address of the public one',
  ],
  [top('listen:', '  host: ▸0.0.0.0'), 'listen.host', 'the sandbox would stand', 'allowSandbox: true'],
  [top('listen:', '  host: ▸gateway.internal'), 'listen.host', 'the sandbox would stand'],
  [top('shutdown:', '  wait: 5s', '  deadline: ▸5s'), 'shutdown.deadline', 'over before', 'longer than the wait'],
  [top('shutdown:', '  wait: 30s').replace('shutdown', '▸shutdown'), 'shutdown.deadline', 'over before'],
]

const areas: Readonly<Record<string, readonly Case[]>> = {
  limits,
  syntax,
  environment,
  keys,
  missing,
  kinds,
  scalars,
  endpoints,
  fields,
  across,
}

test('an address in brackets is quoted: it is no JSON', () => {
  expect(findProblems(top('listen: { host: "[::1]" }'))).toMatchObject([{ path: 'listen.host', found: '"[::1]"' }])
})

describe.each(Object.entries(areas))('a broken configuration is rejected where it is broken: %s', (_area, cases) => {
  test.each(cases.map((broken) => ({ broken, text: broken[0] })))('$text', ({ broken }) => {
    const [marked, path, message, remedy = ''] = broken
    const before = marked.slice(0, marked.indexOf('▸')).split('\n')

    const problems = findProblems(marked.replace('▸', ''))

    expect(problems).toHaveLength(1)
    const [problem] = problems
    expect(problem).toMatchObject({ file: 'gateway.yaml', path, message: expect.stringContaining(message) })
    expect({ line: problem?.line, column: problem?.column }).toEqual({
      line: before.length,
      column: (before.at(-1)?.length ?? 0) + 1,
    })
    expect(`${problem?.expected} ${problem?.hint}`).toContain(remedy)
    expect(JSON.stringify(problems)).not.toContain('hunter2')
  })
})
