import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { DCLinter } from 'dclint'
import { describe, expect, test } from 'vitest'
import { needProgram } from '../../helpers/program.ts'
import { load } from './configurations.ts'
import { at, documentsOf, examples, read, root, scratch, type Tree } from './files.ts'

const [promtool, haproxy] = [await needProgram('promtool'), await needProgram('haproxy')]

const file = `${examples}/compose/compose.yaml`

/** What dclint says of a file: its own types do not resolve for an ES module. */
interface LintResult {
  readonly messages: readonly { readonly rule: string; readonly message: string }[]
}

/** Checks a file against the schema of the Compose specification and the rules of dclint; returns its messages. */
const problemsOf = (path: string): readonly string[] =>
  new DCLinter({ rules: {}, quiet: false, debug: false, exclude: [] })
    .lintFiles([path], false)
    .flatMap(({ messages }: LintResult) => messages.map(({ rule, message }) => `${rule}: ${message}`))

test('compose.yaml is valid, and breaks no rule of the linter', () => {
  expect(problemsOf(join(root, file))).toEqual([])
})

test.each(['read_only:', 'create_host_path:'])('a misspelt %s is a problem', (key) => {
  const folder = scratch({ 'compose.yaml': read(file).replace(key, `x${key}`) })

  expect(problemsOf(join(folder, 'compose.yaml')).join()).toMatch('invalid-schema')
})

const services = at(documentsOf(read(file))[0], 'services') as Readonly<Record<string, Tree>>

// Two builds of one tag at once fail on an engine that stores images in containerd: "already exists".
test('the image is built from this checkout, by one service, and no registry is asked for its name', () => {
  const image = String(services.tokens?.image)
  const policies = Object.entries(services).flatMap(([name, service]) =>
    service.image === image ? [[name, 'build' in service, service.pull_policy]] : [],
  )
  const context = join(root, dirname(file), String(at(services.tokens, 'build', 'context')))

  expect(policies).toEqual([
    ['gateway-a', false, 'never'],
    ['tokens', true, 'build'],
    ['upstream', false, 'never'],
  ])
  expect(relative(root, context)).toBe('')
  expect(services.tokens?.build).not.toHaveProperty('dockerfile') // the Dockerfile of the context
  expect(existsSync(join(context, 'Dockerfile'))).toBe(true)
})

test('what is mounted is there, beside the file', () => {
  const source = String(at(documentsOf(read(file))[0], 'services', 'gateway-a', 'volumes', 0, 'source'))

  expect(existsSync(join(root, dirname(file), source, 'gateway.yaml'))).toBe(true)
})

test('the containers of the gateways run on a read-only root, without a privilege, and publish nothing', () => {
  const gateway = at(documentsOf(read(file))[0], 'services', 'gateway-a')

  expect(gateway).toMatchObject({
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
  })
  expect(gateway).not.toHaveProperty('ports')
  expect(gateway).not.toHaveProperty('healthcheck') // the image's own
  expect(at(gateway, 'volumes', 0)).toMatchObject({
    source: './gateway',
    target: '/etc/lender-gateway',
    read_only: true,
  })
})

test('the other gateway is the same', () => {
  const { depends_on } = services['gateway-a'] as Tree

  expect(services['gateway-b']).toEqual({ extends: { service: 'gateway-a' }, depends_on })
})

test('what is published is published to this machine alone: clients, the dashboard and Prometheus', () => {
  const ports = Object.values(services).flatMap(({ ports: published = [] }) => published as readonly string[])

  expect(ports).toEqual(['127.0.0.1:3000:3000', '127.0.0.1:8080:8080', '127.0.0.1:9090:9090'])
})

test('the stub answers to the name of every upstream', () => {
  const hosts = Object.values(load('compose').config.upstreams).map(
    ({ endpoints }) => new URL(endpoints[0]?.origin ?? '').hostname,
  )

  expect(at(services.upstream, 'networks', 'default', 'aliases')).toEqual(hosts)
})

test('HAProxy asks both gateways for /ready where operators do, and sees a 503 long before they stop', () => {
  const config = read('config/examples/compose/haproxy/haproxy.cfg')
  const { listen, admin, shutdown } = load('compose').config
  const servers = [...config.matchAll(/^ {4}server \w+ ([\w-]+):(\d+) port (\d+)$/gm)].map(([, ...parts]) => parts)

  expect(servers).toEqual(['gateway-a', 'gateway-b'].map((name) => [name, `${listen.port}`, `${admin.port}`]))
  expect(config).toContain('check inter 1s fall 2 rise 2')
  expect(shutdown.wait).toBeGreaterThanOrEqual(2 * 2 * 1000)
})

test('Prometheus has a token of its own, and not that of operators', () => {
  const targets = (name: string) => (at(services[name], 'volumes') as readonly Tree[]).map(({ source }) => source)

  expect(targets('prometheus')).toContain('metrics-token')
  expect(targets('prometheus')).not.toContain('admin-token')
  expect(targets('gateway-a')).toEqual(expect.arrayContaining(['metrics-token', 'admin-token']))
})

test('every folder that is mounted is there', () => {
  const sources = Object.values(services).flatMap(({ volumes = [] }) =>
    (volumes as readonly Tree[]).flatMap(({ type, source }) => (type === 'bind' ? [String(source)] : [])),
  )

  expect(sources.filter((source) => !existsSync(join(root, dirname(file), source)))).toEqual([])
  expect(sources.length).toBeGreaterThan(6)
})

test('Grafana is given a data source that is the default, and the dashboard as its first page', () => {
  const folder = 'config/examples/compose/grafana'
  const [source] = documentsOf(read(`${folder}/datasources/prometheus.yaml`))
  const [provider] = documentsOf(read(`${folder}/dashboards/lender-gateway.yaml`))
  const home = String(at(services.grafana, 'environment', 'GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH'))

  expect(at(source, 'datasources', 0)).toMatchObject({
    type: 'prometheus',
    isDefault: true,
    url: 'http://prometheus:9090',
  })
  expect(dirname(home)).toBe(at(provider, 'providers', 0, 'options', 'path'))
  expect(existsSync(join(root, 'config/examples/grafana', basename(home)))).toBe(true)
})

test('who reaches the dashboard may look, and cannot log in with the password that Grafana begins with', () => {
  expect(at(services.grafana, 'environment')).toMatchObject({
    GF_AUTH_ANONYMOUS_ENABLED: 'true',
    GF_AUTH_BASIC_ENABLED: 'false',
    GF_AUTH_DISABLE_LOGIN_FORM: 'true',
  })
})

describe.skipIf(promtool.missing)('promtool', () => {
  test('takes the configuration of Prometheus', async () => {
    const { stdout } = await promisify(execFile)(promtool.path ?? '', [
      'check',
      'config',
      '--syntax-only',
      join(root, 'config/examples/compose/prometheus/prometheus.yml'),
    ])

    expect(stdout).toContain('is valid')
  })
})

describe.skipIf(haproxy.missing)('haproxy -c', () => {
  test('takes the configuration of HAProxy', async () => {
    const path = join(root, 'config/examples/compose/haproxy/haproxy.cfg')
    const { stdout } = await promisify(execFile)(haproxy.path ?? '', ['-c', '-f', path])

    expect(stdout).toContain('Configuration file is valid')
  })
})

test('the tokens are made once, each in a folder of its own', () => {
  const folder = scratch({})
  const make = () =>
    execFileSync(process.execPath, [join(root, 'config/examples/compose/tokens/make-tokens.mjs'), folder])
  const tokens = () => ['admin', 'metrics'].map((name) => readFileSync(join(folder, name, 'token'), 'utf8'))

  make()
  const [first, second] = tokens()
  make()

  expect(tokens()).toEqual([first, second])
  expect(first).toMatch(/^[0-9a-f]{64}$/)
  expect(second).not.toBe(first)
})
