import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { DCLinter } from 'dclint'
import { describe, expect, test } from 'vitest'
import { needProgram, type Program } from '../../helpers/program.ts'
import { load } from './configurations.ts'
import { at, compose, exampleOf, examples, read, root, scratch, type Tree } from './files.ts'

const folder = join(root, examples, 'compose')
const file = `${examples}/compose/compose.yaml`

/** Checks a file against the schema of the Compose specification and the rules of dclint. */
const problemsOf = (path: string): string =>
  new DCLinter({ rules: {}, quiet: false, debug: false, exclude: [] })
    .lintFiles([path], false)
    // Its own types do not resolve for an ES module.
    .map(({ messages }: { readonly messages: readonly unknown[] }) => JSON.stringify(messages))
    .join()

test('compose.yaml is valid, and breaks no rule of the linter', () => {
  expect(problemsOf(join(root, file))).toBe('[]')
})

test.each(['read_only:', 'create_host_path:'])('a misspelled %s is a problem', (key) => {
  const misspelled = scratch({ 'compose.yaml': read(file).replace(key, `x${key}`) })

  expect(problemsOf(join(misspelled, 'compose.yaml'))).toMatch('invalid-schema')
})

const services = at(compose, 'services') as Readonly<Record<string, Tree>>
const gateway = services['gateway-a'] as Tree
const mountsOf = (service: Tree | undefined) => (service?.volumes ?? []) as readonly Tree[]

// Two builds of one tag at once fail on an engine that stores images in containerd: "already exists".
test('the image is built from this checkout, by one service, and no registry is asked for its name', () => {
  const policies = Object.entries(services).flatMap(([name, service]) =>
    service.image === services.tokens?.image ? [[name, 'build' in service, service.pull_policy]] : [],
  )

  expect(policies).toEqual([
    ['gateway-a', false, 'never'],
    ['tokens', true, 'build'],
    ['upstream', false, 'never'],
  ])
  expect(join(folder, String(at(services.tokens, 'build', 'context')), 'Dockerfile')).toBe(join(root, 'Dockerfile'))
  expect(services.tokens?.build).not.toHaveProperty('dockerfile') // the Dockerfile of the context
})

test('the containers of the gateways run on a read-only root, without a privilege, and publish nothing', () => {
  expect(gateway).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
  for (const key of ['ports', 'healthcheck' /* the image's own */]) expect(gateway).not.toHaveProperty(key)
  expect(mountsOf(gateway)[0]).toMatchObject({ source: './gateway', read_only: true })
  expect(existsSync(join(folder, 'gateway/gateway.yaml'))).toBe(true)
})

test('the other gateway is the same', () => {
  expect(services['gateway-b']).toEqual({ extends: { service: 'gateway-a' }, depends_on: gateway.depends_on })
})

test('what is published is published to this machine alone: clients, the dashboard and Prometheus', () => {
  const ports = Object.values(services).flatMap(({ ports: published = [] }) => published as readonly string[])

  expect(ports).toEqual(['127.0.0.1:3000:3000', '127.0.0.1:8080:8080', '127.0.0.1:9090:9090'])
})

test('the stub responds to the name of every upstream', () => {
  const upstreams = Object.values(load('compose').config.upstreams)
  const hosts = upstreams.map(({ endpoints }) => new URL(endpoints[0]?.origin ?? '').hostname)

  expect(at(services.upstream, 'networks', 'default', 'aliases')).toEqual(hosts)
})

test('HAProxy asks both gateways for /ready where operators do, and sees a 503 long before they stop', () => {
  const config = read(`${examples}/compose/haproxy/haproxy.cfg`)
  const { listen, admin, shutdown } = load('compose').config
  const servers = [...config.matchAll(/^ {4}server \w+ ([\w-]+):(\d+) port (\d+)$/gm)].map(([, ...parts]) => parts)

  expect(servers).toEqual(['gateway-a', 'gateway-b'].map((name) => [name, `${listen.port}`, `${admin.port}`]))
  expect(config).toContain('check inter 1s fall 2 rise 2')
  expect(shutdown.wait).toBeGreaterThanOrEqual(2 * 2 * 1000)
})

test('Prometheus has a token of its own, and not that of operators', () => {
  const tokens = ['gateway-a', 'prometheus'].map((name) =>
    mountsOf(services[name]).flatMap(({ source }) => (String(source).endsWith('-token') ? [source] : [])),
  )

  expect(tokens).toEqual([expect.arrayContaining(['metrics-token', 'admin-token']), ['metrics-token']])
})

test('every folder that is mounted is there', () => {
  const bound = Object.values(services).flatMap((service) => mountsOf(service).filter(({ type }) => type === 'bind'))

  expect(bound.filter(({ source }) => !existsSync(join(folder, String(source))))).toEqual([])
  expect(bound.length).toBeGreaterThan(6)
})

test('Grafana has a default data source and the dashboard as its first page, to look at without a login', () => {
  const provider = exampleOf('compose/grafana/dashboards/lender-gateway.yaml')
  const source = at(exampleOf('compose/grafana/datasources/prometheus.yaml'), 'datasources', 0)
  const environment = at(services.grafana, 'environment') as Readonly<Record<string, string>>
  const home = String(environment.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH)

  expect(source).toMatchObject({ type: 'prometheus', isDefault: true, url: 'http://prometheus:9090' })
  expect(dirname(home)).toBe(at(provider, 'providers', 0, 'options', 'path'))
  expect(existsSync(join(root, examples, 'grafana', basename(home)))).toBe(true)
  // Grafana begins with a password that everybody knows.
  const noLogin = { GF_AUTH_BASIC_ENABLED: 'false', GF_AUTH_DISABLE_LOGIN_FORM: 'true' }
  expect(environment).toMatchObject({ GF_AUTH_ANONYMOUS_ENABLED: 'true', ...noLogin })
})

const prometheusArgs = ['check', 'config', '--syntax-only', join(folder, 'prometheus/prometheus.yml')]

describe.each<[string, Program, readonly string[], string]>([
  ['promtool', await needProgram('promtool'), prometheusArgs, 'is valid'],
  ['haproxy', await needProgram('haproxy'), ['-c', '-f', join(folder, 'haproxy/haproxy.cfg')], 'file is valid'],
])('%s', (_, program, args, said) => {
  test.skipIf(program.missing)('takes its configuration', async () => {
    expect((await promisify(execFile)(program.path ?? '', args)).stdout).toContain(said)
  })
})

test('the tokens are made once, each in a folder of its own', () => {
  const made = scratch({})
  const make = () => {
    execFileSync(process.execPath, [join(folder, 'tokens/make-tokens.mjs'), made])
    return ['admin', 'metrics'].map((name) => readFileSync(join(made, name, 'token'), 'utf8'))
  }

  const [first, again] = [make(), make()]

  expect(again).toEqual(first)
  expect(first[0]).toMatch(/^[0-9a-f]{64}$/)
  expect(new Set(first).size).toBe(2)
})
