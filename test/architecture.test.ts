import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { features } from '../src/features/index.ts'

/** A file of src, and what it names: files of src by their path in it, anything else by name. */
interface Source {
  readonly path: string
  readonly text: string
  /** All that it imports: as a type only and on demand too. */
  readonly imports: readonly string[]
  /** What it names at once, types included; and of that, what Node loads with it. */
  readonly links: readonly string[]
  readonly loads: readonly string[]
}

const src = fileURLToPath(new URL('../src/', import.meta.url))

const sources: readonly Source[] = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => {
    const text = readFileSync(join(src, path), 'utf8')
    const named = (pattern: RegExp): string[] =>
      [...text.matchAll(pattern)].map(([, name = '']) =>
        name.startsWith('.') ? normalize(join(dirname(path), name)) : name,
      )
    const imports = named(/(?:\bfrom\s|^import\s|\bimport\()'([^']+)'/gm)
    const links = named(/^(?:import|export)\s(?:[^'"]*?\sfrom\s)?'([^']+)'/gm)
    const loads = named(/^(?:import|export)\s(?!type\b)(?:[^']*?\sfrom\s)?'([^']+)'/gm)
    return { path, text, imports, links, loads }
  })

// A room of core imports from the rooms to its right and from its own, never from those to its left or beside it.
const rooms: readonly (readonly string[])[] = [
  ['main.ts'],
  ['run.ts', 'load-thread.ts'],
  ['features/'],
  ['core/feature.ts'],
  ['core/cli/'],
  ['core/runtime/supervisor.ts'],
  ['core/runtime/gateway.ts'],
  ['core/downstream/', 'core/admin/'],
  ['core/runtime/'],
  ['core/upstream/', 'core/config/'],
  ['core/log/'],
  ['core/exchange/'],
  ['core/lib/'],
  ['operations.ts'],
]

// Every room reads the type of the configuration.
const isConfig = (path: string): boolean => path === 'core/config/config.ts'

const roomOf = (path: string): string | undefined =>
  rooms
    .flat()
    .filter((room) => (room.endsWith('/') ? path.startsWith(room) : path === room))
    .sort((a, b) => b.length - a.length)[0]

const columnOf = (path: string): number => rooms.findIndex((column) => column.some((room) => room === roomOf(path)))

const featureOf = (path: string): string | undefined => /^features\/([^/]+)\//.exec(path)?.[1]

/** Of texts that begin with a path, those of core and of features that are there. */
const thatAreHere = (paths: readonly string[]): readonly string[] =>
  paths.filter((path) => featureOf(path) === undefined || features.some(({ name }) => name === featureOf(path)))

/** Lists the files whose source is of a kind. */
const filesWhere = (isSo: (source: Source) => boolean): string[] => sources.filter(isSo).map(({ path }) => path)

/** Lists the imports of a package that load it: at once, or on demand. */
const importsOf = (name: string): readonly string[] =>
  sources.flatMap(({ path, text }) => {
    const pattern = new RegExp(`^import (?!type).*'${name}'|(?<!typeof )import\\('${name}'\\)`, 'gm')
    return [...text.matchAll(pattern)].map(([found]) => `${path}: ${found}`)
  })

/** Lists the imports that may not be. */
const strayImports = (mayBe: (path: string, name: string) => boolean): readonly string[] =>
  sources.flatMap(({ path, imports }) =>
    imports.filter((name) => !mayBe(path, name)).map((name) => `${path} → ${name}`),
  )

/** Returns whether a file of src may import another. */
const mayImport = (from: string, to: string): boolean =>
  roomOf(from) === roomOf(to) || isConfig(to) || columnOf(to) > columnOf(from)

type Graph = ReadonlyMap<string, readonly string[]>

/** Finds all that one leads to, and what that leads to: itself only by way of others. */
const reach = (graph: Graph, from: string): ReadonlySet<string> => {
  const found = new Set(graph.get(from))
  for (const each of found) for (const next of graph.get(each) ?? []) found.add(next)
  return found
}

const loads: Graph = new Map(sources.map((source) => [source.path, source.loads]))
const links: Graph = new Map(sources.map((source) => [source.path, source.links]))

/** Lists the modules that Node loads with a file, except those that are loaded on demand. */
const loadedWith = (path: string): readonly string[] => [...reach(loads, path)]

test('every file stands in a room', () => {
  expect(filesWhere(({ path }) => roomOf(path) === undefined)).toEqual([])
  expect(sources.length).toBeGreaterThan(50)
})

test('core imports from its right alone, and no feature', () => {
  expect(strayImports((path, name) => !name.endsWith('.ts') || mayImport(path, name))).toEqual([])
})

describe('features', () => {
  const needsOf = new Map(features.map(({ name, needs = [] }) => [name, needs]))

  test('each imports from those that it needs, and needs those alone that it imports from', () => {
    const imported = sources.flatMap(({ path, imports }) => {
      const from = featureOf(path)
      const others = imports.map(featureOf).filter((name) => name !== undefined && name !== from)
      return from === undefined ? [] : others.map((name) => `${from} → ${name}`)
    })
    const needed = [...needsOf].flatMap(([from, needs]) => needs.map((name) => `${from} → ${name}`))

    expect([...new Set(imported)].sort()).toEqual(needed.sort())
  })

  test('of another, each imports only the files that it names its face, and a face names no other file', () => {
    const imported = sources.flatMap(({ path, imports }) =>
      featureOf(path) === undefined
        ? []
        : imports.filter((name) => featureOf(name) !== undefined && featureOf(name) !== featureOf(path)),
    )
    const faces = features.flatMap(({ name, face = [] }) => face.map((file) => `features/${name}/${file}`))

    expect([...new Set(imported)].sort()).toEqual(faces.sort())
  })

  test('none needs itself, by however many others', () => {
    const circle = new Map(Object.entries({ one: ['other'], other: ['one'] }))

    expect([...needsOf.keys()].filter((name) => reach(needsOf, name).has(name))).toEqual([])
    expect(reach(circle, 'one')).toContain('one')
  })

  test('no part imports what waits for that part of all features, and so for itself', () => {
    const waits: Readonly<Record<string, readonly string[]>> = {
      'admin.ts': ['core/admin/admin-parts.ts'],
      'commands.ts': ['core/admin/commands/command-groups.ts'],
      'config.ts': ['core/config/config-schema.ts'],
      'listener.ts': ['core/downstream/listener/listener-parts.ts'],
      'primary.ts': ['core/runtime/primary-parts.ts'],
      'runtime.ts': ['core/runtime/runtime-parts.ts'],
      'status.ts': ['core/runtime/status/report.ts', 'core/runtime/status/upstreams.ts'],
    }
    const parts = sources.filter(({ path }) => /^features\/[^/]+\/[a-z]+\.ts$/.test(path) && waits[basename(path)])
    const waiting = parts.flatMap(({ path }) => {
      const imported = loadedWith(path)
      return (waits[basename(path)] ?? []).filter((name) => imported.includes(name)).map((name) => `${path} → ${name}`)
    })

    expect(waiting).toEqual([])
    expect(parts.length).toBeGreaterThanOrEqual(features.length)
  })
})

test.each([
  ['core/upstream/endpoints/group-endpoint.ts', 'core/downstream/response/send-response.ts', false],
  ['core/downstream/request/request-handler.ts', 'core/admin/server.ts', false],
  ['core/config/load/load.ts', 'core/upstream/endpoints/group-endpoint.ts', false],
  ['operations.ts', 'core/exchange/failures/errors.ts', false],
  ['core/cli/commands/serve.ts', 'features/systemd/index.ts', false],
  ['features/systemd/index.ts', 'core/feature.ts', true],
])('the rule can fail: whether %s may import %s: %s', (from, to, may) => {
  expect(mayImport(from, to)).toBe(may)
})

describe('libraries stay at the rim', () => {
  const otlp = ['otlp-exporter-base/node-http', 'otlp-transformer']
  const parts = ['api', 'core', 'resources', 'sdk-trace', ...otlp, 'semantic-conventions']
  const opentelemetry = parts.map((part) => `@opentelemetry/${part}`)
  const rims: Readonly<Record<string, RegExp>> = {
    fastify: /^(core\/(downstream|admin)|features\/console)\//,
    '@fastify/http-proxy': /^core\/downstream\/request\/fastify-routes\.ts$/,
    undici: /^features\/auth\/tokens\/http-client\.ts$/,
    jose: /^features\/auth\//,
    'lru-cache': /^(core\/admin\/access\/|features\/(auth|cache|candidate)\/)/,
    pino: /^core\/log\//,
    'pino-pretty': /^core\/log\//,
    yaml: /^(core\/config|features\/candidate\/promote)\//,
    zod: /^(core\/config|features)\//,
    'fastest-levenshtein': /^core\/config\//,
    'lender-gateway.js': /^main\.ts$/,
    'ajv/dist/2020.js': /^features\/contract\/compile\//,
    'ajv/dist/standalone/index.js': /^features\/contract\/compile\//,
    ajv: /^features\/contract\/compile\//,
    'idn-hostname': /^features\/contract\/check\/address-formats\.ts$/,
    re2js: /^features\/contract\/check\/linear-regexp\.ts$/,
    'structured-headers': /^features\/(limits|auth|cache|idempotency)\//,
    '@redis/client': /^features\/redis\/redis-server\.ts$/,
    fflate: /^features\/bundle\/bundle\.ts$/,
    ...Object.fromEntries(opentelemetry.map((name) => [name, /^features\/tracing\//])),
    commander: /^(core\/cli\/|features\/|main\.ts$)/,
  }

  test('each is imported where it belongs, and all that are imported have a place', () => {
    const isInside = (path: string, name: string) => /\.[jt]s$|^node:/.test(name) || rims[name]?.test(path) === true

    expect(strayImports(isInside)).toEqual([])
  })

  test.each<[string, string, string]>([
    ['the client of Redis', '@redis/client', 'features/redis/redis-server.ts'],
    ['the verifier of signatures', 'jose', 'features/auth/tokens/jwk-set.ts'],
    ...opentelemetry.map(
      (name) => ['the exporter of spans', name, 'features/tracing/sdk.ts'] satisfies [string, string, string],
    ),
  ])('%s is loaded on demand, and not before: %s', (_, name, file) => {
    expect(importsOf(name)).toEqual(thatAreHere([`${file}: import('${name}')`]))
  })

  test('a gateway that starts loads these packages, and none that it does not use yet', () => {
    const atStart = ['fastify', '@fastify/http-proxy', 'pino', 'undici', 'lru-cache', 'structured-headers']
    const allowed = new Set(['commander', 'fastest-levenshtein', ...atStart])

    // run.ts imports the next once the thread has begun, `serve` the others, and the primary forks the last.
    const loaded = [
      'run.ts',
      'core/cli/run-command-line.ts',
      'core/cli/commands/serve.ts',
      'core/config/load/load-in-thread.ts',
      'core/runtime/gateway.ts',
      ...['audit', 'auth', 'candidate', 'contract', 'contract-learning', 'limits', 'retry', 'workers'].map(
        (name) => `features/${name}/primary.ts`,
      ),
      'features/tracing/runtime.ts',
      'features/workers/worker-main.ts',
      'features/workers/worker-pool.ts',
    ].flatMap(loadedWith)

    expect(loaded.filter((name) => !/^node:|\.ts$/.test(name) && !allowed.has(name))).toEqual([])
    expect(loaded).toContain('core/downstream/request/fastify-routes.ts')
    expect(
      [...new Set(loaded)].filter((name) => /^(core\/downstream\/tls|features\/http2\/(?!index|listener))/.test(name)),
    ).toEqual([])
    const reading = loadedWith('load-thread.ts').filter((name) => !/^node:|\.ts$/.test(name))
    expect(reading.sort()).toEqual(['fastest-levenshtein', 'yaml', 'zod'])
  })

  test('a health check loads no operator command, and the commands load nothing that serves clients', () => {
    const ofGateway =
      /^core\/(admin\/(?!admin-part|commands\/command-part)|runtime\/(?!supervisor|(primary|runtime|status\/status)-part))/
    const ofStatus = ['run.ts', 'core/cli/run-command-line.ts'].flatMap(loadedWith)
    expect(ofStatus).toContain('core/cli/commands/client-commands.ts')
    expect(ofStatus.filter((name) => ofGateway.test(name))).toEqual([])
    expect(loadedWith('core/cli/commands/check.ts').filter((name) => /^(fastify|undici|pino)$/.test(name))).toEqual([])
    const loaded = [
      'core/cli/commands/operator-commands.ts',
      'features/overrides/endpoint-commands.ts',
      'features/overrides/operation-commands.ts',
    ].flatMap(loadedWith)
    expect(loaded).toContain('core/admin/commands/reload.ts')
    expect(loaded.filter((name) => /^core\/(downstream|upstream|config)\/|^fastify$/.test(name))).toEqual([])
  })

  test('the packages of the browser are served from one file, and imported by none', () => {
    const users = filesWhere(({ text }) => /['"](uplot|idiomorph)[/'"]/.test(text))

    expect(users).toEqual(thatAreHere(['features/console/page/assets.ts']))
  })

  test('node:http is imported as a type only: to import it loads the fetch of Node', () => {
    expect(importsOf('node:http')).toEqual([])
  })
})

test('only clock.ts reads time', () => {
  const readers = filesWhere(({ text }) => /\bDate\.now\(|\bperformance\.now\(|\bnew Date\(\)|hrtime/.test(text))

  expect(readers).toEqual(['core/lib/clock.ts'])
})

// A duration by the wall clock is wrong by two hours when an operator, NTP or a restored machine sets it by two hours.
test('the wall clock is compared only with times that others have written, or that operators are shown', () => {
  const users = filesWhere(
    ({ path, text }) => path !== 'core/lib/clock.ts' && /epochMs\(\) *[-+<>]|[-+<>]=? *epochMs\(\)/.test(text),
  )

  expect(users.sort()).toEqual(
    thatAreHere([
      'core/cli/commands/check-online.ts', // a certificate's end
      'core/config/warnings/warnings.ts', // certificates' ends
      'core/downstream/tls/handshaker.ts', // a certificate's end
      'core/lib/certificate-expiry.ts', // a certificate's end
      'core/log/process-stats.ts', // the start of the process, to be shown
      'core/runtime/overrides.ts', // the end of an override, to be shown
      'core/runtime/status/endpoint.ts', // a certificate's end
      'core/runtime/status/side.ts', // when a breaker lets a request through, to be shown
      'features/auth/tokens/dpop.ts', // `iat`
      'features/auth/tokens/token-cache.ts', // `exp`
      'features/console/session/session-store.ts', // `exp`
      'features/idempotency/store/redis-idempotency-store.ts', // the end of a record, to be shown
      'features/overrides/last-endpoint.ts', // the ends of overrides, as operators are shown them
      'features/tracing/tracing.ts', // the times of spans, to be shown
    ]),
  )
})

test('each undocumented part of Node is used in one file, and listed', () => {
  const page = readFileSync(new URL('../docs/design/private-parts.md', import.meta.url), 'utf8')
  const used = sources.flatMap(({ path, text }) => {
    // A member that begins with an underscore (`_zod` is documented by zod), and those that do not look private.
    const names = text.matchAll(
      /(?:\.|readonly |\{ )(_(?!zod\b)[a-z]\w*)|\b(onIncoming|httpAllowHalfOpen|shouldKeepAlive|chunkedEncoding)\b/g,
    )
    return [...new Set([...names].map(([, member, other]) => `${member ?? other}: ${path}`))]
  })

  expect(used.sort()).toEqual([
    '_handle: core/lib/file-descriptors.ts',
    '_sharedCreds: core/lib/net/tls.ts',
    '_write: core/upstream/http1/write-request.ts',
    '_writev: core/upstream/http1/write-request.ts',
  ])
  for (const each of used) for (const part of each.split(': ')) expect(page).toContain(part)
})

test('no file imports one that imports it, by however many others, types included', () => {
  expect(filesWhere(({ path }) => reach(links, path).has(path))).toEqual([])
  expect(reach(links, 'run.ts').size).toBeGreaterThan(5)
})

test('no file is longer than 300 lines', () => {
  expect(filesWhere(({ text }) => text.split('\n').length > 301)).toEqual([])
})

test('no folder has more than 24 files side by side', () => {
  const sizes = Map.groupBy(sources, ({ path }) => dirname(path))
  const crowded = [...sizes].filter(([, files]) => files.length > 24)

  expect(crowded.map(([folder]) => folder)).toEqual([])
  expect(sizes.size).toBeGreaterThan(20)
})

// What each feature exports for core has the same name in every feature.
const partNames = `
  builtInCommands onlineChecks protections divide reports reported status texts loadProofs loadPages overview
  findingInputs findClients ofGroup groupRows facts loadStatusTexts loadOpenApi loadPage loadExplain sideFact
  loadBundle problemMembers pageSections totals fileChecks operatorExtras operatorCommands findings metrics
  sections operationKeys resolveOperation policyKeys upstreamKeys resolveUpstream listenKeys operatorKeys
  ownFields usesRedis dividedLimits withoutFiles namedFile digests findMistaken loadInclude transfer rules
  warnings open describe prepare
`

test('an exported name has one meaning in the whole of src', () => {
  const kinds = 'const|let|function\\*?|async function|class|interface|type'
  const exported = sources.flatMap(({ path, text }) =>
    [...text.matchAll(new RegExp(`^export (?:${kinds}) (\\w+)`, 'gm'))].map(([, name = '']) => ({ name, path })),
  )
  const taken = [...Map.groupBy(exported, ({ name }) => name)].filter(
    ([name, places]) => places.length > 1 && !partNames.split(/\s+/).includes(name),
  )

  expect(taken.map(([name, places]) => `${name}: ${places.map(({ path }) => path).join(', ')}`)).toEqual([])
  expect(exported.length).toBeGreaterThan(500)
})

test('no comment has a line over 120 columns', () => {
  const root = join(src, '..')
  const files = ['src', 'test', 'tools'].flatMap((room) =>
    readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !path.includes('node_modules'))
      .map((path) => join(room, path)),
  )
  const long = files.flatMap((path) =>
    readFileSync(join(root, path), 'utf8')
      .split('\n')
      .flatMap((text, at) => (text.length > 120 && /^\s*(?:\/\/|\/\*|\*)/.test(text) ? [`${path}:${at + 1}`] : [])),
  )

  expect(long).toEqual([])
  expect(files.length).toBeGreaterThan(500)
})
