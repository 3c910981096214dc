import { expect, test } from 'vitest'
import { RemoteAuditSink } from '../../../src/workers/child/remote-audit-sink.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Opens one whose reader takes what it is sent only when it is told to. */
const open = () => {
  const sent: { readonly lines: number; readonly lost: number }[] = []
  const waiting: (() => void)[] = []
  const outbox = new RemoteAuditSink((lines, lost, done) => {
    sent.push({ lines: lines.length, lost })
    waiting.push(done)
  })
  const take = (): void => {
    for (const done of waiting.splice(0)) done()
  }
  return { outbox, sent, take }
}

const megabyte = 'x'.repeat(1024 * 1024)

test('the lines of one turn are sent together', async () => {
  const { outbox, sent } = open()

  for (const line of ['a', 'b', 'c']) outbox.record(line)
  await turn()

  expect(sent).toEqual([{ lines: 3, lost: 0 }])
})

test('how many were lost while nobody took any is told when somebody does, though no line follows', async () => {
  const { outbox, sent, take } = open()
  for (let n = 0; n < 4; n++) outbox.record(megabyte)
  await turn()

  for (let n = 0; n < 7; n++) outbox.record('more')
  await turn()
  const meanwhile = [...sent]
  take()

  expect(meanwhile).toEqual([{ lines: 4, lost: 0 }])
  expect(sent.slice(1)).toEqual([{ lines: 0, lost: 7 }])
})

test('all is on its way only when that is told as well', async () => {
  const { outbox, sent, take } = open()
  let isSent = false
  outbox.record('a')
  void outbox.flushed().then(() => {
    isSent = true
  })

  await turn()
  const before = isSent
  take()
  await turn()

  expect([sent, before, isSent]).toEqual([[{ lines: 1, lost: 0 }], false, true])
})
