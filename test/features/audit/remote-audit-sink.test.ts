import { expect, test } from 'vitest'
import { createRemoteAuditSink } from '../../../src/features/audit/audit-sink.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** The primary receives lines only on `take`. */
const openSink = () => {
  const sent: { readonly lines: number; readonly lost: number }[] = []
  const waiting: (() => void)[] = []
  const sink = createRemoteAuditSink((lines, lost, done) => {
    sent.push({ lines: lines.length, lost })
    waiting.push(done)
  })
  const take = (): void => {
    for (const done of waiting.splice(0)) done()
  }
  return { sink, sent, take }
}

const megabyte = 'x'.repeat(1024 * 1024)

test('the lines of one turn are sent together', async () => {
  const { sink, sent } = openSink()

  for (const line of ['a', 'b', 'c']) sink.record(line)
  await turn()

  expect(sent).toEqual([{ lines: 3, lost: 0 }])
})

test('how many were lost while the primary took none is reported when it takes some, though no line follows', async () => {
  const { sink, sent, take } = openSink()
  for (let n = 0; n < 4; n++) sink.record(megabyte)
  await turn()

  for (let n = 0; n < 7; n++) sink.record('more')
  await turn()
  const meanwhile = [...sent]
  take()

  expect(meanwhile).toEqual([{ lines: 4, lost: 0 }])
  expect(sent.slice(1)).toEqual([{ lines: 0, lost: 7 }])
})

test('everything is on its way only when the loss is reported as well', async () => {
  const { sink, sent, take } = openSink()
  const events: string[] = []
  sink.record('a')
  void sink.flushed().then(() => events.push('sent'))

  await turn()
  events.push('taken')
  take()
  await turn()

  expect([sent, events]).toEqual([[{ lines: 1, lost: 0 }], ['taken', 'sent']])
})
