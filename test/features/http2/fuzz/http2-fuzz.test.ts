/**
 * Node's codec of HTTP/2 is the oracle of the gateway's own: both get mutated frames of real clients, and differ only
 * as differences.ts says. `SEQUENCES=200000 npx vitest run --project drills test/features/http2/fuzz` takes some
 * minutes.
 */
import { execFileSync, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, inject } from 'vitest'
import { HpackDecoder } from '../../../../src/core/downstream/http2/hpack/decoder.ts'
import { HpackEncoder, maxBlockBytes } from '../../../../src/core/downstream/http2/hpack/encoder.ts'
import type { HpackField } from '../../../../src/core/downstream/http2/hpack/field.ts'
import { random } from '../../../core/upstream/http1/fuzz/mutate.ts'
import { debianFile, requireFound } from '../../../helpers/program.ts'
import { drill, inDrills, test } from '../../../helpers/speed.ts'
import { one } from './frames.ts'
import type { Batch } from './judge.ts'

/** Runs sequences in a child process, and continues behind each sequence at which the child ends by itself. */
const fuzz = async (seed: number, count: number) => {
  const rows = new Map<string, number>()
  const [unexplained, aborts]: [string[], string[]] = [[], []]
  let requests = 0
  for (let from = 0; from < count; ) {
    const args = [join(import.meta.dirname, 'judge.ts'), ...[seed, from, count].map(String)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const exited = new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)))
    for await (const line of createInterface(child.stdout)) {
      const batch: Batch = JSON.parse(line)
      requests += batch.requests
      unexplained.push(...batch.unexplained)
      for (const row of batch.rows) rows.set(row, (rows.get(row) ?? 0) + 1)
      from = batch.next
    }
    const exit = await exited
    if (from === count) break
    aborts.push(`the codecs ended their process (${exit}) in one of the 100 sequences from ${from} on, seed ${seed}`)
    from += 100
  }
  return { rows, requests, unexplained, aborts }
}

const expectSame = async (seed: number, count: number): Promise<void> => {
  const { rows, requests, unexplained, aborts } = await fuzz(seed, count)

  const sorted = [...rows].sort(([, times], [, others]) => others - times)
  if (process.env.SEQUENCES !== undefined) console.log(sorted.map(([row, times]) => `${times}: ${row}`).join('\n'))
  expect(aborts).toEqual([])
  expect(unexplained.slice(0, 3).join('\n\n')).toBe('')
  // They are not so rough that nothing is read.
  expect(requests).toBeGreaterThan(count)
}

test('both codecs show client and application the same for 600 mutated connections, or differ in a known way', () =>
  expectSame(1, 600))

drill('so it is of others, of a seed that is known and of one that is not', { timeout: 3_600_000 }, async () => {
  await expectSame(2, 4000)
  await expectSame(inject('propertySeed'), Number(process.env.SEQUENCES ?? 8000))
})

// That of python-h2, which httpx uses.
const path = '/usr/lib/python3/dist-packages/hpack/hpack.py'
const hpack = inDrills ? requireFound(await debianFile(path, 'python3-hpack')) : null
const python = `
import hpack, json, sys
connections = json.load(sys.stdin)
for connection in connections:
  decoder, encoder = hpack.Decoder(), hpack.Encoder()
  for head in connection:
    if head["size"] is not None: decoder.max_allowed_table_size = encoder.header_table_size = head["size"]
    head["decoded"] = decoder.decode(bytes.fromhex(head["block"]))
    head["block"] = encoder.encode([tuple(field) for field in head["fields"]], huffman=len(head["fields"]) % 2 == 0).hex()
json.dump(connections, sys.stdout)
`
const values = ['', 'a', 'application/json', 'v'.repeat(900), '{"a":[1]}', '\u007f~', 'x'.repeat(40)]
const names = ['content-type', 'etag', 'set-cookie', 'x-request-id', 'x-vendor', 'age', 'vary', 'x-other']

drill.skipIf(hpack?.missing)('python-h2 and the gateway read the field blocks of each other', () => {
  const draw = random(inject('propertySeed'))
  const drawHead = (encoder: HpackEncoder) => {
    const size = draw(3) === 0 ? one(draw, [0, 100, 1000, 4096]) : null
    const fields = Array.from({ length: draw(9) }, () => [one(draw, names), one(draw, values)])
    if (size !== null) encoder.limitTable(size)
    const out = Buffer.alloc(maxBlockBytes(fields.flat()))
    const end = encoder.encode(out, 0, one(draw, ['200', '404', '502']), fields.flat())
    return { size, fields, block: out.toString('hex', 0, end), decoded: [] as string[][] }
  }
  const connections = Array.from({ length: 300 }, () => {
    const encoder = new HpackEncoder()
    return Array.from({ length: 8 }, () => drawHead(encoder))
  })

  const input = JSON.stringify(connections)
  const read = execFileSync('/usr/bin/python3', ['-c', python], { input, encoding: 'utf8', maxBuffer: 2 ** 26 })

  for (const heads of JSON.parse(read) as typeof connections) {
    const decoder = new HpackDecoder()
    for (const { fields, block, decoded } of heads) {
      const found: HpackField[] = []
      decoder.decode(Buffer.from(block, 'hex'), 0, block.length / 2, found, 2 ** 20)
      expect(decoded.slice(1)).toEqual(fields)
      expect(found.map(({ name, value }) => [name, value])).toEqual(fields)
    }
  }
})
