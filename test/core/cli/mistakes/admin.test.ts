/** Mistakes of operators about the admin listener and about reloading. */
import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type Mistake, pem, tryMistakes, withTopLines } from './mistakes.ts'

const token = 'abcdefghijklmnopqrstuvwxyz'
const hexToken = 'ab12'.repeat(16)

const access: Readonly<Record<string, Mistake>> = {
  'open to other machines without a token': {
    text: withTopLines('admin:', '  host: 0.0.0.0', '  insecure: true'),
    line: 2,
    key: 'admin.host',
    message: 'the admin listener would be open to other machines',
    remedy: 'set admin.token',
  },
  'open to other machines without TLS': {
    text: withTopLines('admin:', '  host: 0.0.0.0', `  token: ${token}`),
    line: 2,
    key: 'admin.host',
    message: 'the admin listener would be open to other machines',
    remedy: 'set admin.tls, or admin.insecure: true',
  },
  'a token that is too short': {
    text: withTopLines('admin:', '  token: hunter2'),
    line: 2,
    key: 'admin.token',
    message: 'too short',
    remedy: 'openssl rand -hex 32',
  },
  'a token of Prometheus that is the operators’': {
    text: withTopLines('admin:', `  token: ${token}`, `  metricsToken: ${token}`),
    line: 3,
    key: 'admin.metricsToken',
    message: 'this token opens everything',
    remedy: 'another token than admin.token',
  },
  'a token of Prometheus, and none of operators': {
    text: withTopLines('admin:', `  metricsToken: ${token}`),
    line: 2,
    key: 'admin.metricsToken',
    message: 'without admin.token everything is open',
    remedy: 'openssl rand -hex 32',
  },
  'a token of two operators': {
    text: withTopLines(
      'admin:',
      '  tokens:',
      `    - { name: anna, hash: ${hash('sha256', token)}, scope: operate }`,
      `    - { name: bert, hash: ${hash('sha256', token)}, scope: read }`,
    ),
    line: 4,
    key: 'admin.tokens[1].hash',
    message: 'this token stands here already',
    remedy: 'found    that of admin.tokens[0]',
  },
  'a token of an operator that is admin.token as well': {
    text: withTopLines(
      'admin:',
      `  token: ${token}`,
      `  tokens: [{ name: anna, hash: ${hash('sha256', token)}, scope: read }]`,
    ),
    line: 3,
    key: 'admin.tokens[0].hash',
    message: 'this token stands here already',
    remedy: 'found    that of admin.token\n',
  },
  'a token itself in place of its hash': {
    text: withTopLines(
      'admin:',
      `  token: ${hexToken}`,
      `  tokens: [{ name: anna, hash: ${hexToken}, scope: operate }]`,
    ),
    line: 3,
    key: 'admin.tokens[0].hash',
    message: 'this token stands here already',
    remedy: 'itself, and not its hash',
  },
  'a scope that there is not': {
    text: withTopLines('admin:', `  tokens: [{ name: anna, hash: ${hash('sha256', token)}, scope: admin }]`),
    line: 2,
    key: 'admin.tokens[0].scope',
    message: 'unknown',
    remedy: 'one of metrics, read, operate',
  },
  'a token with its scheme': {
    text: withTopLines('admin:', `  token: Bearer ${token}`),
    line: 2,
    key: 'admin.token',
    message: 'not a token',
    remedy: 'letters, digits and -._~+/',
  },
  'a token as a number': {
    text: withTopLines('admin:', '  token: 1234567890123456789'),
    line: 2,
    key: 'admin.token',
    message: 'not text',
    remedy: 'a token of at least 16 letters',
  },
  'a token that is not there': {
    text: withTopLines('admin:', '  token: file:/no/such/file'),
    line: 2,
    key: 'admin.token',
    message: 'no such file',
    remedy: 'a readable text file',
  },
  'yes for true': {
    text: withTopLines('admin:', '  insecure: yes'),
    line: 2,
    key: 'admin.insecure',
    message: 'not a boolean',
    remedy: 'write true, without quotes',
  },
  'one name for a list': {
    text: withTopLines('admin:', '  hosts: gateway.internal'),
    line: 2,
    key: 'admin.hosts',
    message: 'the wrong kind of value',
    remedy: 'a list',
  },
  'a port behind a name': {
    text: withTopLines('admin:', '  hosts: [gateway.internal:9901]'),
    line: 2,
    key: 'admin.hosts[0]',
    message: 'not an address',
    remedy: 'the port goes under its own key',
  },
  'a certificate without its key': {
    text: withTopLines('admin:', '  tls:', `    certificate: ${pem('CERTIFICATE')}`),
    line: 2,
    key: 'admin.tls.key',
    message: 'missing',
    remedy: 'a private key in PEM, or file: and a path',
  },
  'a path without file:': {
    text: withTopLines('admin:', '  tls:', '    certificate: /etc/gateway/tls.crt', `    key: ${pem('PRIVATE KEY')}`),
    line: 3,
    key: 'admin.tls.certificate',
    message: 'not a certificate in PEM',
    remedy: 'write file: and the path of a PEM file',
  },
  'a certificate that is cut short': {
    text: withTopLines('admin:', '  tls:', `    certificate: ${pem('CERTIFICATE')}`, `    key: ${pem('PRIVATE KEY')}`),
    line: 3,
    key: 'admin.tls.certificate',
    message: 'a certificate that cannot be read',
    remedy: 'it may be cut short',
  },
  'certificates of operators without an authority': {
    text: withTopLines(
      'admin:',
      '  tls:',
      `    certificate: ${pem('CERTIFICATE')}`,
      `    key: ${pem('PRIVATE KEY')}`,
      '    clientCertificate:',
      '      operators: [{ name: anna, san: "dns:anna.example", scope: read }]',
    ),
    line: 5,
    key: 'admin.tls.clientCertificate.ca',
    message: 'missing',
    remedy: 'a certificate in PEM, or file: and a path',
  },
  'a key with a password': {
    text: withTopLines(
      'admin:',
      '  tls:',
      `    certificate: ${pem('CERTIFICATE')}`,
      `    key: ${pem('ENCRYPTED PRIVATE KEY')}`,
    ),
    line: 4,
    key: 'admin.tls.key',
    message: 'a key with a password',
    remedy: 'openssl pkey -in KEY -out PLAIN',
  },
}

const reload: Readonly<Record<string, Mistake>> = {
  'off for false': {
    text: withTopLines('reload:', '  watch: off'),
    line: 2,
    key: 'reload.watch',
    message: 'not a boolean',
    remedy: 'write false, without quotes',
  },
  'a unit left out': {
    text: withTopLines('reload:', '  poll: 5'),
    line: 2,
    key: 'reload.poll',
    message: 'a unit is missing',
    remedy: 'write 5s',
  },
  'a key of another program': {
    text: withTopLines('reload:', '  interval: 5s'),
    line: 2,
    key: 'reload.interval',
    message: 'unknown key',
    remedy: 'one of watch, poll',
  },
  'a switch for the whole': {
    text: withTopLines('reload: false'),
    line: 1,
    key: 'reload',
    message: 'the wrong kind of value',
    remedy: 'a map',
  },
}

describe('who may reach the operator', () => tryMistakes(access))

describe('how an edit is noticed', () => tryMistakes(reload))

test('at least 15 mistakes are tried', () => {
  expect(Object.keys(access).length + Object.keys(reload).length).toBeGreaterThanOrEqual(15)
})
