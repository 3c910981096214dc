import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AuditWriter, defaultWriterOptions } from '../../../src/features/audit/audit-writer.ts'
import { toAuditKey } from '../../../src/features/audit/chain/chain.ts'
import { logInMemory } from '../../helpers/gateway.ts'
import { FakeAuditOutput } from './fake-audit-output.ts'
import { key, sample, verified } from './sample-audit-log.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
let open: AuditWriter[] = []
afterEach(async () => {
  const closed = Promise.all(open.map((writer) => writer.close('stopped')))
  open = []
  await closed // or their timers would be those of the next test
  vi.useRealTimers()
})

const begin = (more: Partial<typeof defaultWriterOptions> = {}) => {
  const output = new FakeAuditOutput()
  const { log, lines } = logInMemory()
  const changes: boolean[] = []
  const options = { ...defaultWriterOptions, ...more }
  const writer = new AuditWriter(output.opened(), key, log, (failing) => changes.push(failing), options)
  open.push(writer)
  return { output, writer, changes, lines }
}

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

const started = async (...of: Parameters<typeof begin>) => {
  const begun = begin(...of)
  await pass(5)
  return begun
}

const says = (n: number): string => `"event":"exchange","n":${n}`
const numbers = (text: string): readonly number[] => [...text.matchAll(/"n":(\d+)/g)].map(([, n]) => Number(n))

test('lines that come together are written together, after one that says what they follow', async () => {
  const { output, writer } = begin()

  for (let n = 0; n < 100; n++) writer.record(says(n))
  await pass(5)

  expect(output.writes).toBe(1)
  expect(numbers(output.text)).toEqual(Array.from({ length: 100 }, (_, n) => n))
  expect(verified([output.text])).toMatchObject({ findings: [], chains: [{ first: 1, lines: 101 }] })
})

test('a full disk is reported once, and when there is room again all that waited is written', async () => {
  const { output, writer, changes, lines } = await started()

  output.room = 100 // less than a line
  writer.record(says(1))
  await pass(5)
  writer.record(says(2))
  await pass(3000)
  const failing = writer.state
  output.room = Number.POSITIVE_INFINITY
  await pass(12_000)

  expect(failing).toMatchObject({ reason: 'ENOSPC: no space left on device', count: 1, lost: 0 })
  expect(writer.state).toMatchObject({ reason: null, count: 3, waitingBytes: 0 })
  expect(changes).toEqual([true, false])
  expect(verified([output.text])).toMatchObject({ findings: [], chains: [{ lines: 3 }] })
  expect(lines.map(({ msg }) => msg)).toEqual(['audit cannot be written', 'audit is written again'])
})

test('while lines come at every moment, it is reported that they can be written again, and where the chain ends', async () => {
  const { output, writer, changes } = await started()
  output.room = 0
  writer.record(says(0))
  await pass(5)
  let came = 0
  output.onWrite = () => {
    if (came++ < 1000) writer.record(says(came))
  }

  output.room = Number.POSITIVE_INFINITY
  await pass(250)
  const [told, cameUntilTold] = [[...changes], came]
  await writer.checkpoint()

  expect(told).toEqual([true, false])
  expect(Math.max(cameUntilTold, came)).toBeLessThan(100)
})

test('what waits is limited: what comes beyond is lost, and a line in its place says how much', async () => {
  const { output, writer, lines } = await started({ maxPendingBytes: 200 })

  output.room = 0
  for (let n = 0; n < 20; n++) writer.record(says(n))
  await pass(1000)
  const { waitingBytes, lost } = writer.state
  output.room = Number.POSITIVE_INFINITY
  await pass(12_000)
  writer.record(says(20))
  await pass(5)

  const kept = 20 - lost
  expect(waitingBytes).toBeLessThanOrEqual(200)
  expect(lost).toBeGreaterThan(5)
  expect(numbers(output.text)).toEqual([...Array.from({ length: kept }, (_, n) => n), 20])
  expect(output.text).toContain(`"event":"lost","lines":${lost},`)
  expect(verified([output.text]).findings).toEqual([])
  expect(lines.at(-1)).toMatchObject({ msg: 'audit is written again', lost })
})

test('a disk that hangs counts as one that fails, until it has taken what it was given', async () => {
  const { output, writer, changes } = await started()
  const pending = Promise.withResolvers<void>()

  output.wait = pending.promise
  writer.record(says(1))
  await pass(5100)
  const { reason } = writer.state
  pending.resolve()
  await pass(1)

  expect([reason, changes]).toEqual(['a write takes too long', [true, false]])
  expect(numbers(output.text)).toEqual([1])
})

test('a file that is moved away while a line is half written goes on in the next, which says so', async () => {
  const { output, writer } = await started()
  const next = new FakeAuditOutput()

  output.room = 50
  for (let n = 0; n < 3; n++) writer.record(says(n))
  await pass(5)
  output.successor = next
  await writer.reopen()
  await pass(300)

  expect(output.text).not.toMatch(/\n$/)
  expect([output.isClosed, next.isClosed]).toEqual([true, false])
  expect(numbers(next.text)).toEqual([0, 1, 2])
  expect(verified([output.text, next.text])).toMatchObject({ findings: [], chains: [{ first: 1, lines: 5 }] })
  expect(verified([next.text]).findings).toEqual([])
})

test.each([
  ['nothing', [0]],
  ['a piece', [50]],
  ['a piece, and of the next as well', [50, 60]],
  ['nothing, and of the next a piece', [0, 60]],
])(
  'what a crash left is reported where a full disk takes %s of a line, and the file is moved away then',
  async (_, rooms) => {
    const crashed = sample(3)
    const piece = `{"audit":"${crashed.link.chain}","seq":5,"ti`
    const outputs = [...rooms, Number.POSITIVE_INFINITY].map((room) => Object.assign(new FakeAuditOutput(), { room }))
    const [first, ...others] = outputs as [FakeAuditOutput, ...FakeAuditOutput[]]
    first.text = `${crashed.text}${piece}\n`
    const opened = { output: first, link: crashed.link, torn: Buffer.from(piece) }
    const writer = new AuditWriter(opened, key, logInMemory().log, () => {})
    open.push(writer)

    writer.record(says(1))
    await pass(5)
    for (const [nth, next] of others.entries()) {
      ;(outputs[nth] as FakeAuditOutput).successor = next
      await writer.reopen()
      await pass(300)
    }

    const files = outputs.map(({ text }) => text).filter((text) => text !== '')
    expect(numbers(files.at(-1) ?? '')).toContain(1)
    expect(verified(files)).toMatchObject({ findings: [], chains: [{ first: 1 }] })
  },
)

test('a key is changed by a line that the old one seals', async () => {
  const { output, writer } = begin()
  const other = toAuditKey('o'.repeat(32))

  writer.record(says(1))
  writer.rekey(other)
  writer.record(says(2))
  await pass(5)

  expect(verified([output.text], { keys: [key, other] }).findings).toEqual([])
  expect(verified([output.text]).findings).not.toEqual([])
})

test('each minute in which something was written the log says where the chain ends, and at the end', async () => {
  const { output, writer, lines } = begin()

  await pass(60_000)
  await pass(60_000)
  writer.record(says(1))
  await pass(60_000)
  writer.record(says(2))
  open = []
  const left = await writer.close('stopped')

  const checkpoints = lines.filter(({ msg }) => msg === 'audit checkpoint')
  expect(checkpoints.map(({ count }) => count)).toEqual([1, 2, 4])
  expect(left).toEqual({ lines: [], lost: 0 })
  expect(verified([output.text], { checkpoints: checkpoints as never }).findings).toEqual([])
})

test('what could not be made to survive counts as not written, until it is', async () => {
  const { output, writer, changes } = await started()

  output.unsynced = 'EIO: i/o error, fdatasync'
  await pass(61_000)
  const { reason } = writer.state
  output.unsynced = null
  await pass(1000)

  expect([reason, changes]).toEqual(['EIO: i/o error, fdatasync', [true, false]])
})

test('what cannot be written is given back at the end, with the number of lines that were lost and not reported', async () => {
  const { output, writer } = begin()
  writer.countLost(1)
  await pass(300)

  output.room = 0
  writer.countLost(2)
  writer.record(says(1))
  await pass(300)
  writer.countLost(3)
  open = []
  const left = await writer.close('stopped')

  expect(output.text).toContain('"event":"lost","lines":1,')
  expect(left).toEqual({ lines: [says(1)], lost: 5 })
})

test('the disk is measured at the start, each minute and on reopen, and one that hangs holds up no line', async () => {
  const { output, writer } = await started()
  const atStart = output.measurements
  output.disk = { freeBytes: 1, sizeBytes: 100 }

  await pass(60_000)
  await writer.reopen()
  const asked = output.measurements
  const { disk } = writer.state
  output.measured = new Promise(() => {})
  for (let n = 0; n < 3; n++) {
    await pass(60_000)
    writer.record(says(n))
  }
  await pass(5)

  expect([atStart, asked, output.measurements]).toEqual([1, 3, 4])
  expect(disk).toEqual({ freeBytes: 1, sizeBytes: 100, fullInSeconds: null, low: true })
  expect(numbers(output.text)).toEqual([0, 1, 2])
  expect(writer.state).toMatchObject({ reason: null, waitingBytes: 0 })
})
