/** Runs the commands that README.md and docs print, as they are printed. */
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../../src/core/config/load/load-config.ts'
import { type Gateway, startGateway } from '../../../src/core/runtime/gateway.ts'
import { allOperations } from '../../../src/operations.ts'
import { sampleContract, sampleOfPage } from '../../helpers/contract.ts'
import { freePort } from '../../helpers/free-port.ts'
import { configText, logInMemory, type Settings } from '../../helpers/gateway.ts'
import { findOlderNode, pinned } from '../../helpers/nodes.ts'
import { type Printed, printed } from '../../helpers/printed.ts'
import { needProgram } from '../../helpers/program.ts'
import { openHttpUpstream, type TestUpstream } from '../../helpers/upstream.ts'
import { type Checkout, makeCheckout } from './checkout.ts'
import { type Way, wayOf } from './ways.ts'

const [npm, curl] = [await needProgram('npm'), await needProgram('curl')]
const older = findOlderNode(npm.path ?? 'npm')
if (older.missing !== null) console.warn(`skipped: ${older.missing}`)
afterAll(() => older.remove())

/** Lists the commands that are run, each once: page, command, way. */
const runnable = (commands: readonly Printed[]): readonly (readonly [string, string, Way])[] => {
  const once = new Map(commands.map((command) => [command.text, command]))
  return [...once.values()].flatMap((command) => {
    const way = wayOf(command)
    const isRun = way?.how === 'run' || way?.how === 'until' || way?.how === 'serve'
    return isRun ? [[command.page, command.text, way] as const] : []
  })
}

// Clients of two operations are asked who they are.
const asked: ReadonlySet<string> = new Set(['risk.asset-valuation', 'financing.pre-approval'])
const unasked = allOperations.filter(({ id }) => !asked.has(id))

const readme = printed.filter(({ page }) => page === 'README.md')

describe.skipIf(npm.missing ?? curl.missing)('run in a checkout beside a gateway', { timeout: 60_000 }, () => {
  let upstreams: readonly TestUpstream[] = []
  let gateway: Gateway
  /** The one whose file the gateway runs, and one for commands that start another. */
  let beside: Checkout
  let alone: Checkout
  let ports = { public: 0, admin: 0, silent: 0 }

  const mapped = (text: string, folder: string): string =>
    text
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${ports.public}`)
      .replaceAll('127.0.0.1:9901', `127.0.0.1:${ports.admin}`)
      .replaceAll('127.0.0.1:9902', `127.0.0.1:${ports.silent}`)
      .replaceAll('http://risk-a.internal:8080', upstreams[0]?.url ?? '')
      .replaceAll('http://risk-b.internal:8080', upstreams[1]?.url ?? '')
      .replaceAll(/\/(etc|run\/secrets|var\/log)\/(lender-gateway\/)?/g, `${folder}/config/`)
  const write = ({ file }: Checkout, more: Settings = {}): void =>
    writeFileSync(
      file,
      configText({
        upstream: upstreams[0]?.url,
        upstreams: {
          market: { endpoints: [upstreams[0]?.url], candidate: { endpoints: [upstreams[1]?.url], shadow: {} } },
          risk: {
            endpoints: upstreams.map(({ url }) => url),
            candidate: {
              // Another endpoint than those of the group, which are drained.
              endpoints: [`${upstreams[0]?.url}/next`],
              steps: { shares: ['1%', '5%', '25%', '100%'], every: '15m' },
              shadow: { posts: true, sideEffects: 'none' },
            },
          },
        },
        clients: [
          { id: 'bank-a', operations: 'all', apiKeys: [{ id: 'key-a', sha256: 'b'.repeat(64) }] },
          { id: 'bank-b', operations: 'all', apiKeys: [{ id: 'key', sha256: 'a'.repeat(64) }] },
        ],
        auth: { methods: ['apiKey'] },
        operations: {
          ...Object.fromEntries(unasked.map(({ id }) => [id, { auth: 'none' }])),
          'market.insights': { auth: 'none', cache: {} },
          'financing.pre-approval': { idempotency: true },
        },
        contract: { file: 'contract.json' },
        shutdown: { wait: '0s' },
        ...more,
      }),
    )
  const start = async ({ file }: Checkout, { log } = logInMemory()): Promise<Gateway> => {
    const loaded = loadConfig(file)
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
    return startGateway({ file, loaded, environment: {}, log, droppedLines: () => 0, forwardLines: () => {} })
  }
  const running = (): Settings => ({ listen: { port: ports.public }, admin: { port: ports.admin } })
  /** Leaves the gateway with a file that says what runs, and with a configuration before that one. */
  const begin = async (): Promise<void> => {
    write(beside, { ...running(), requestId: { header: 'X-Trace-Id' } })
    await gateway.reload('signal')
    write(beside, running())
    await gateway.reload('signal')
  }

  beforeAll(async () => {
    upstreams = [await openHttpUpstream(), await openHttpUpstream()]
    ports = { public: await freePort(), admin: await freePort(), silent: await freePort() }
    ;[beside, alone] = [makeCheckout(npm.path ?? '', mapped), makeCheckout(npm.path ?? '', mapped)]
    // An audit log that has ended, and the log with its checkpoint: in the folder of the file and where commands run.
    const log = logInMemory()
    for (const { folder } of [beside, alone])
      writeFileSync(join(folder, 'config/contract.json'), JSON.stringify(sampleContract))
    writeFileSync(join(beside.folder, 'request.json'), sampleOfPage())
    const audit = { file: join(beside.folder, 'audit.log'), key: 'file:audit-key' }
    writeFileSync(join(beside.folder, 'config/audit-key'), 'k'.repeat(32))
    write(beside, { audit })
    await (await start(beside, log)).close()
    writeFileSync(join(beside.folder, 'gateway.log'), log.lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    cpSync(audit.file, join(beside.folder, 'config/audit.log'))
    write(alone)
    write(beside, running())
    gateway = await start(beside)
    await fetch(`http://127.0.0.1:${ports.public}/nowhere`) // for a rejection to be shown
  }, 60_000)

  afterAll(async () => {
    await gateway?.close()
    for (const upstream of upstreams) await upstream.close()
    for (const checkout of [beside, alone]) checkout?.remove()
  })

  let isBegun = false
  const shows = async (text: string, way: Way, path: readonly string[]): Promise<void> => {
    if (way.how === 'serve') return alone.until(text, path, /"msg":"admin listening"/)
    if (!isBegun) await begin()
    // What these leave behind is another state than the others want.
    isBegun = !/\b(rollback|reload)\b/.test(text)
    if (way.how === 'until') return beside.until(text, path, way.says)
    const { code, output } = await beside.run(text, path)
    expect([code, output]).toEqual([way.how === 'run' ? way.exit : 0, output])
  }

  // Those of the README with npm's own npx.
  test.each(runnable(printed))('%s: %s', (page, text, way) =>
    shows(text, way, page === 'README.md' ? pinned : [beside.quick, ...pinned]),
  )

  test.skipIf(older.missing)('of the README, one of each program, with Node 20', { timeout: 120_000 }, async () => {
    // `npm ci && npm start` is the one of npm.
    const commands = ['npm ci', 'npx'].flatMap((program) =>
      runnable(readme)
        .filter(([, text]) => text.startsWith(program))
        .slice(0, 1),
    )
    expect(commands).toHaveLength(2)
    for (const [, text, way] of commands) await shows(text, way, older.path ?? [])
  })
})
