// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
/** Mistakes of operators in values. */
import { describe, expect, test } from 'vitest'
import { type Mistake, operations, risk, riskUpstream, tryMistakes, upstreams, withTopLines } from './mistakes.ts'

const values: Readonly<Record<string, Mistake>> = {
  'a unit left out': {
    text: withTopLines('defaults:', '  timeouts:', '    connect: 2'),
    line: 3,
    key: 'defaults.timeouts.connect',
    message: 'a unit is missing',
    remedy: 'write 2s',
  },
  'a unit of another kind': {
    text: withTopLines('defaults:', '  maxBody: 64MB'),
    line: 2,
    key: 'defaults.maxBody',
    message: 'not a size',
    remedy: 'write 64MiB',
  },
  'a number in quotes': {
    text: withTopLines('listen:', '  port: "8080"'),
    line: 2,
    key: 'listen.port',
    message: 'a number in quotes',
    remedy: 'write 8080, without quotes',
  },
  'a weight as text': {
    text: risk('endpoints:', '  - url: http://risk', '    weight: "10"'),
    line: 8,
    key: 'upstreams.risk.endpoints[0].weight',
    message: 'a number in quotes',
    remedy: 'write 10, without quotes',
  },
  'a negative number': {
    text: withTopLines('listen:', '  maxConnections: -1'),
    line: 2,
    key: 'listen.maxConnections',
    message: 'too small',
    remedy: 'write at least 1',
  },
  'a number that is too large': {
    text: withTopLines('listen:', '  port: 80800'),
    line: 2,
    key: 'listen.port',
    message: 'too large',
    remedy: 'write at most 65535',
  },
  'yes for true': {
    text: withTopLines('allowSandbox: yes'),
    line: 1,
    key: 'allowSandbox',
    message: 'not a boolean',
    remedy: 'write true, without quotes',
  },
  'on for true': {
    text: riskUpstream('tls:', '  verify: on'),
    line: 8,
    key: 'upstreams.risk.tls.verify',
    message: 'not a boolean',
    remedy: 'write true, without quotes',
  },
  'off for refuse': {
    text: operations('  inventory.sync:', '    state: off'),
    line: 12,
    key: 'operations.inventory.sync.state',
    message: 'unknown value',
    remedy: 'one of serve, refuse',
  },
  'upper case for a level of the log': {
    text: withTopLines('log:', '  level: INFO'),
    line: 2,
    key: 'log.level',
    message: 'unknown value',
    remedy: 'write info',
  },
  'a prefix length that is too long': {
    text: withTopLines('listen:', '  trustedProxies: [10.0.0.0/33]'),
    line: 2,
    key: 'listen.trustedProxies[0]',
    message: 'wrong prefix length',
    remedy: 'write /0 to /32 after the address',
  },
  'none where a bound must stay': {
    text: withTopLines('listen:', '  timeouts:', '    headers: none'),
    line: 3,
    key: 'listen.timeouts.headers',
    message: 'not a duration',
    remedy: 'cannot be turned off',
  },
  'a base path without its slash': {
    text: withTopLines('listen:', '  basePath: lender/v1'),
    line: 2,
    key: 'listen.basePath',
    message: 'not an absolute path',
    remedy: 'write /lender/v1',
  },
  'a variable that is not set': {
    text: upstreams(' ${RISK_URL}'),
    line: 5,
    key: 'upstreams.risk',
    message: 'the environment variable RISK_URL is not set',
    remedy: 'set RISK_URL, or write ${RISK_URL:-default}',
  },
  'a secret that is not there': {
    text: risk('endpoints: [http://risk]', 'request:', '  set:', '    X-Api-Key: file:/no/such/file'),
    line: 9,
    key: 'upstreams.risk.request.set.X-Api-Key',
    message: 'no such file',
    remedy: 'a readable text file',
  },
  'a field value that is a number': {
    text: risk('endpoints: [http://risk]', 'request:', '  set:', '    X-Version: 2'),
    line: 9,
    key: 'upstreams.risk.request.set.X-Version',
    message: 'not a string',
    remedy: 'put the value in quotes',
  },
}

const addresses: Readonly<Record<string, Mistake>> = {
  'a URL without its scheme': {
    text: upstreams(' risk.internal:8080'),
    line: 5,
    key: 'upstreams.risk',
    message: 'not a URL',
    remedy: 'put http:// or https:// in front',
  },
  'a mistake in sandbox': {
    text: upstreams(' sandbx'),
    line: 5,
    key: 'upstreams.risk',
    message: 'not a URL',
    remedy: 'did you mean sandbox?',
  },
  'one slash too few': {
    text: upstreams(' http:/risk.internal'),
    line: 5,
    key: 'upstreams.risk',
    message: 'not a URL',
    remedy: 'write http:// or https://',
  },
  'a port under host': {
    text: withTopLines('listen:', '  host: 127.0.0.1:8080'),
    line: 2,
    key: 'listen.host',
    message: 'not an address',
    remedy: 'the port goes under its own key',
  },
  'a URL with a query': {
    text: upstreams(' http://risk.internal/v2?tenant=a'),
    line: 5,
    key: 'upstreams.risk',
    message: 'a URL with a query',
    remedy: 'remove ? and what follows it',
  },
  'a password in a URL': {
    text: upstreams(' http://admin:hunter2@risk.internal'),
    line: 5,
    key: 'upstreams.risk',
    message: 'a URL with a user name or password',
    remedy: 'send credentials with request.set',
  },
  'a URL from a file': {
    text: upstreams(' file:/run/secrets/url'),
    line: 5,
    key: 'upstreams.risk',
    message: 'not a URL',
    remedy: 'write the URL here, or ${NAME}',
  },
  'no endpoints': {
    text: risk('endpoints: []'),
    line: 6,
    key: 'upstreams.risk.endpoints',
    message: 'the list is empty',
    remedy: 'add a URL or sandbox',
  },
  'Host among the fields to set': {
    text: risk('endpoints: [http://risk]', 'request:', '  set:', '    Host: risk.example'),
    line: 9,
    key: 'upstreams.risk.request.set.Host',
    message: 'Host is set by the gateway',
    remedy: 'use the host key of this group',
  },
  'the sandbox where other machines reach it': {
    text: withTopLines('listen:', '  host: 0.0.0.0'),
    line: 2,
    key: 'listen.host',
    message: 'the sandbox would stand behind an address that other machines reach',
    remedy: 'give them real endpoints, or set allowSandbox: true',
  },
  'a group that leads to the gateway itself': {
    text: upstreams(' http://localhost:8080'),
    line: 5,
    key: 'upstreams.risk',
    message: "this is the gateway's own public listener",
    remedy: 'write the address of the upstream, or change listen.port',
  },
  'both listeners on one port': {
    text: withTopLines('admin:', '  port: 8080'),
    line: 2,
    key: 'admin.port',
    message: 'the admin listener is on the address of the public one',
    remedy: 'choose another port',
  },
  'a wait longer than the whole shutdown': {
    text: withTopLines('shutdown:', '  wait: 30s', '  deadline: 25s'),
    line: 3,
    key: 'shutdown.deadline',
    message: 'the deadline is over before the wait is',
    remedy: 'make it longer than the wait',
  },
}

describe('a value of the wrong kind or size', () => tryMistakes(values))

describe('an address, or a value that another one rules out', () => tryMistakes(addresses))

test('at least 20 mistakes are tried', () => {
  expect(Object.keys({ ...values, ...addresses }).length).toBeGreaterThanOrEqual(20)
})
