import { describe, expect } from 'vitest'
import { allOperations } from '../../../src/operations.ts'
import { jsonResponse, runCommand, scriptedAdmin } from '../../core/cli/scripted-admin.ts'
import { endpointStatusWith, healthyStatus, toOverview, upstreamStatusWith } from '../../core/cli/status-fixtures.ts'
import { restoreSequence, runInTerminal } from '../../features/top/pseudo-terminal.ts'
import { freePort } from '../../helpers/free-port.ts'
import { bootLiveGateway } from '../../helpers/live-gateway.ts'
import { needProgram } from '../../helpers/program.ts'
import { crashOnSignal } from '../../helpers/secret-leaks.ts'
import { drill, part, test, testAndDrill } from '../../helpers/speed.ts'

const script = await needProgram('script')

const top = (admin: string, environment: NodeJS.ProcessEnv = {}, ...args: readonly string[]) =>
  runInTerminal(script.path ?? '', ['top', '--admin', admin, ...args], environment)

const drawn = /market\.insights/
const some = { id: 'a', state: 'serve' }
const words = { stepSeconds: 5, perSecond: ['x'] }

const evil = '\u001b]0;owned\u0007\u009b2J\r\n\u202e'

/** An overview that would control a terminal. */
const hostile = toOverview(
  {
    ...healthyStatus,
    ...{ version: evil, state: evil },
    findings: [{ severity: evil, about: evil, cause: evil.repeat(9), details: [evil], since: evil, command: evil }],
    upstreams: { [evil]: upstreamStatusWith(endpointStatusWith(evil, { state: evil, reason: evil, since: evil })) },
    limits: { ...healthyStatus.limits, concurrency: [{ key: evil, inFlight: 1, limit: 2 }] },
  },
  [{ id: evil, state: evil, group: evil, method: evil, path: evil, failing: true }],
)

describe('top where there is no terminal', () => {
  test('prints one whole frame, without colors', async () => {
    const live = await bootLiveGateway({ upstreams: { risk: `http://127.0.0.1:${await freePort()}` } })
    await (await fetch(`${live.url}/risk/asset-valuation`, { method: 'POST' })).text()

    const { code, out, err } = await runCommand(['top', '--admin', live.admin], { LC_ALL: 'C.UTF-8' })

    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/^lender-gateway \d+\.\d+\.\d+ \| serving, ready \| config [0-9a-f]{12} \| up /)
    expect(out).toMatch(/^(CRITICAL|warning) +upstreams\.risk: .*refuses connections/m)
    for (const { id } of allOperations) expect(out).toMatch(new RegExp(`^${id.replace('.', '\\.')} `, 'm'))
    expect(out).toMatch(/^risk +http:\/\/127\.0\.0\.1:\d+ +100 +0 +up, 1 of 1 requests failed since \S+Z, \d+s ago$/m)
    expect(out).toMatch(/^limits\.concurrency +0 of 10000 in flight$/m)
    expect(out).not.toContain('\u001b')
  })

  test('prints the response of /overview as JSON', async () => {
    const live = await bootLiveGateway()

    const { code, out } = await runCommand(['top', '--admin', live.admin, '--format', 'json'])

    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ status: { state: 'serving' }, operations: expect.any(Array) })
  })

  test('prints nothing with which a listener controls a terminal', async () => {
    const { code, out } = await runCommand(['top', '--admin', (await scriptedAdmin(jsonResponse(hostile))).url])

    expect(code).toBe(0)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
    expect(out).not.toMatch(/[\u001b\u0007\u009b\u202e\r]/u)
    expect(out).toContain(String.raw`\x1b]0;owned`)
  })

  test('prints why it cannot ask', async () => {
    const { code, out, err } = await runCommand(['top', '--admin', `http://127.0.0.1:${await freePort()}`])

    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(/^lender-gateway: nothing listens at .*\n$/)
  })

  testAndDrill.each(
    part([
      ['no overview', {}, 'status'],
      ['rates that are none', { status: healthyStatus, operations: [{ ...some, pace: 7 }] }, 'operations[0].pace'],
      ['a chart of words', { status: healthyStatus, operations: [{ ...some, history: words }] }, 'perSecond[0]'],
    ]),
  )('a listener that sends %s is no gateway of this version', async (_, body, where) => {
    const admin = await scriptedAdmin(jsonResponse(body))

    const { code, err } = await runCommand(['top', '--admin', admin.url])

    expect(code).toBe(2)
    expect(err).toContain('responds in a form that this version does not know')
    expect(err).toContain(where)
  })
})

describe.skipIf(script.missing)('top in a terminal', () => {
  test('is as large as the window, follows it, and q restores the terminal', async () => {
    const live = await bootLiveGateway()
    const terminal = top(live.admin)
    await terminal.shows(drawn)
    terminal.type('x\u001b[A\r') // other keys do nothing
    const sized = (columns: number, rows: number): boolean => {
      const lines = terminal.frame()
      return lines.length <= rows && lines.every((line) => line.length <= columns) && lines[0]?.endsWith('…') === true
    }

    terminal.resize(40, 12)
    await expect.poll(() => sized(40, 12)).toBe(true)
    terminal.resize(60, 20)
    await expect.poll(() => !sized(40, 12) && sized(60, 20)).toBe(true)
    terminal.type('q')

    expect(await terminal.ended).toEqual({ code: 0, isAsBefore: true })
    expect(terminal.text().split(restoreSequence)).toHaveLength(2)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
    expect(terminal.text().split(restoreSequence)[0]).not.toMatch(/\u001b\[\d*m/u) // NO_COLOR
  })

  drill('an uncaught error restores it as well', async () => {
    const live = await bootLiveGateway()
    const crash = `--import=data:text/javascript,${encodeURIComponent(crashOnSignal('nothing'))}`
    const terminal = top(live.admin, { NODE_OPTIONS: crash })
    await terminal.shows(drawn)

    terminal.signal('SIGPIPE')

    expect(await terminal.ended).toEqual({ code: 1, isAsBefore: true })
    const [, after = ''] = terminal.text().split(restoreSequence)
    expect(after).toContain('crash')
  })

  drill('a terminal that is left alone for days gathers nothing, and Ctrl-D restores it', async () => {
    // Says in the end how many times the promise was waited for that was waited for most. Each second takes 20 ms.
    const countWaits = `
      const [counts, { then }, { setTimeout }] = [new WeakMap(), Promise.prototype, globalThis]
      let most = 0
      Promise.prototype.then = function (...args) {
        counts.set(this, (counts.get(this) ?? 0) + 1)
        most = Math.max(most, counts.get(this))
        return then.apply(this, args)
      }
      globalThis.setTimeout = (run, ms, ...args) => setTimeout(run, ms === 1000 ? 20 : ms, ...args)
      process.on('exit', () => console.error('waits=' + most))`
    const live = await bootLiveGateway()
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(countWaits)}`
    const terminal = top(live.admin, { NODE_OPTIONS })

    await expect.poll(() => terminal.text().split('\u001b[H').length).toBeGreaterThan(50)
    terminal.type('\u0004')

    expect(await terminal.ended).toEqual({ code: 0, isAsBefore: true })
    expect(Number(/waits=(\d+)/.exec(terminal.text())?.[1])).toBeLessThan(10)
  })

  drill('the frame is STALE while no gateway responds, not when one does; SIGHUP restores it', async () => {
    const port = await freePort()
    const first = await bootLiveGateway({ admin: { port } })
    const terminal = top(first.admin)
    await terminal.shows(drawn)

    await first.gateway.close()
    // The whole frame: its last lines may come later than the line with STALE.
    const frame = () => terminal.frame().join('\n')
    await expect.poll(frame).toMatch(/STALE for \d+s: nothing listens at[\s\S]*market\.insights/)
    await bootLiveGateway({ admin: { port } })
    await expect.poll(frame).not.toContain('STALE')
    terminal.signal('SIGHUP')

    expect(await terminal.ended).toEqual({ code: 0, isAsBefore: true })
    expect(terminal.text()).toContain(restoreSequence)
  })

  drill('has colors unless NO_COLOR forbids them, and Ctrl-C restores it as well', async () => {
    const admin = await scriptedAdmin(jsonResponse(toOverview(healthyStatus)))
    const terminal = top(admin.url, { NO_COLOR: '', TERM: 'xterm' })
    await terminal.shows(/limits\.concurrency/)
    terminal.type('\u0003')

    expect(await terminal.ended).toEqual({ code: 0, isAsBefore: true })
    expect(terminal.text()).toContain(restoreSequence)
    expect(terminal.text()).toContain('\u001b[1mlender-gateway')
  })

  drill('a listener cannot control it, and SIGTERM restores it', async () => {
    const admin = await scriptedAdmin(jsonResponse(hostile))
    const terminal = top(admin.url)
    await terminal.shows(/owned/)
    terminal.signal('SIGTERM')

    expect(await terminal.ended).toEqual({ code: 0, isAsBefore: true })
    const [, shown = ''] = terminal.text().split('\u001b[?7l')
    // The output without the command's own sequences: clear a line, go home, clear below, restore.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
    const rest = shown.replaceAll(/\u001b\[(2K|H|J|\?7h|\?25h|\?1049l)/gu, '')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
    expect(rest).not.toMatch(/[\u001b\u0007\u009b\u202e]/u)
    expect(rest).toContain(String.raw`\x1b]0;owned`)
  })
})
