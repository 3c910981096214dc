/** What the test and the drill of {@link expectUntouched} share. */
import fc from 'fast-check'
import { expect } from 'vitest'
import { contractFile } from '../helpers/contract.ts'
import { bootGateway } from '../helpers/gateway.ts'
import { httpUpstream } from '../helpers/upstream.ts'
import { call, sha256 } from '../helpers/wire.ts'

const blank = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 3 })

/** Numbers that a parser would write differently, or could not keep. */
const number = fc.oneof(
  fc.constantFrom('1.0', '1e2', '1E+2', '0.1000', '-0', '-0.0', '12345678901234567890', '1e400', '1e-400', '0.1e1'),
  fc.tuple(fc.integer(), fc.nat({ max: 999 }), fc.integer({ min: -30, max: 30 })).map(([a, b, c]) => `${a}.${b}e${c}`),
)

const escapes = ['\\u0061', '\\/', '/', '\\n', '\\ud83d\\ude00', '\\ud800', '\\udc00', '\\u0000', '\\"']

/** Strings with escapes of the same meaning, and halves of surrogate pairs. */
const text = fc
  .array(fc.oneof(fc.constantFrom(...escapes), fc.constantFrom('a', 'ä', '€', '😀', ' ')), { maxLength: 5 })
  .map((parts) => `"${parts.join('')}"`)

/** JSON texts. `twice`: an object may have a member twice. */
const json = (twice: boolean) =>
  fc.letrec<{ readonly value: string; readonly array: string; readonly object: string }>((tie) => ({
    value: fc
      .tuple(
        blank,
        fc.oneof({ maxDepth: 5 }, number, text, fc.constantFrom('true', 'false', 'null'), tie('array'), tie('object')),
        blank,
      )
      .map((parts) => parts.join('')),
    array: fc.array(tie('value'), { maxLength: 5 }).map((items) => `[${items.join()}]`),
    object: fc
      .uniqueArray(fc.tuple(text, tie('value')), { maxLength: 6, selector: ([name]) => JSON.parse(name) })
      .map((members) => (twice && members[0] !== undefined ? [...members, members[0]] : members))
      .map((members) => `{${members.map(([name, value]) => `${name}:${value}`).join()}}`),
  })).object

const content = { 'application/json': { schema: { type: 'object' } } }
const responses = { 200: { description: 'any', content } }
const permissive = {
  openapi: '3.1.0',
  info: { title: 'Anything', version: '1.0.0' },
  paths: { '/valuation/score': { post: { requestBody: { required: true, content }, responses } } },
}

/** Sends JSON through a gateway in one mode, and gets other JSON back: both arrive byte for byte. */
export const expectUntouched = async (mode: 'off' | 'report' | 'enforce', runs: number): Promise<void> => {
  let result = Buffer.alloc(0)
  const upstream = await httpUpstream((_, response) => {
    response.writeHead(200, ['Content-Type', 'application/json'])
    response.end(result)
  })
  const { port } = await bootGateway({
    upstream: upstream.url,
    contract: { file: contractFile(permissive), request: mode, response: mode },
  })
  // Enforced, a member that stands twice is rejected.
  const texts = json(mode !== 'enforce')
  await fc.assert(
    fc.asyncProperty(texts, texts, fc.boolean(), async (request, response, isChunked) => {
      result = Buffer.from(response)
      const body = Buffer.from(request)
      const fields = ['Content-Type', 'application/json']
      const framing = isChunked ? { chunkBytes: 100 } : {}

      const got = await call(port, { method: 'POST', target: '/valuation/score', fields, body, ...framing })

      expect(got.status).toBe(200)
      expect([upstream.requests.at(-1)?.sha256, got.sha256]).toEqual([sha256(body), sha256(result)])
    }),
    { numRuns: runs },
  )
}
