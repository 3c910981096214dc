import { expect, test } from 'vitest'
import { readLog } from './h2load.ts'
import { responseReader } from './response-reader.ts'

test('latencies are those of requests begun while it counts, and failures are those of all', () => {
  const rows = [
    [1_000_000, 200, 90_000], // before: not counted, but served
    [1_490_000, 200, 15_000], // begun before, ended while it counts
    [1_500_000, 200, 1_000],
    [1_600_000, 200, 2_000],
    [1_700_000, 200, 3_000],
    [1_800_000, 503, 50],
    [1_900_000, -1, 50],
    [2_500_000, 200, 80_000], // after
  ]
  const text = rows.map((row) => `${row.join('\t')}\n`).join('')

  const turn = readLog(text, { fromUs: 1_500_000, toUs: 2_500_000 })

  const steady = { rate: 3, served: 4 }
  expect(turn).toEqual({ served: 6, failed: 2, seconds: 1.58, p50Ms: 2, p99Ms: 3, steady })
})

test('a response ends where its length or its last chunk says, however it is cut', () => {
  const read = responseReader()
  const said = [
    'HTTP/1.1 200 OK\r\nContent-Le',
    'ngth: 3\r\n\r\nab',
    'c',
    'HTTP/1.1 503 No\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n',
    '\r\n',
  ].map(read)

  expect(said).toEqual([null, null, { status: 200, closes: false }, null, { status: 503, closes: true }])
})
