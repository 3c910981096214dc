import { hash } from 'node:crypto'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { allOperations, type OperationId } from '../../../../src/operations.ts'
import { openGateway } from '../../../helpers/gateway.ts'
import { openHttpUpstream } from '../../../helpers/upstream.ts'

const secret = 'a'.repeat(43)
const sha256 = hash('sha256', secret)
const ids = allOperations.map(({ id }) => id)

/** What a client may do, as the file says it. */
interface Row {
  readonly operations: 'all' | readonly OperationId[]
  readonly disabled: boolean
  readonly isHere: boolean
}

const rows: fc.Arbitrary<Row> = fc.record({
  operations: fc.oneof(
    { weight: 1, arbitrary: fc.constant('all' as const) },
    { weight: 9, arbitrary: fc.subarray(ids, { minLength: 1 }) },
  ),
  disabled: fc.oneof({ weight: 7, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  isHere: fc.oneof({ weight: 7, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
})

test('20 clients × 9 operations: each cell is as configured', async () => {
  const upstream = await openHttpUpstream()
  onTestFinished(() => upstream.close())
  const seen = new Set<number>()

  await fc.assert(
    fc.asyncProperty(fc.array(rows, { minLength: 20, maxLength: 20 }), async (matrix) => {
      const { gateway, url } = await openGateway({
        upstream: upstream.url,
        auth: { methods: ['apiKey'] },
        clients: matrix.map(({ operations, disabled, isHere }, nth) => ({
          id: `client-${nth}`,
          apiKeys: [{ id: `key-${nth}`, sha256 }],
          operations,
          disabled,
          addresses: isHere ? ['127.0.0.0/8'] : ['192.0.2.0/24'],
        })),
      })
      try {
        const cells = await Promise.all(
          matrix.flatMap((row, nth) =>
            allOperations.map(async ({ id, method, path }) => {
              const { status } = await fetch(url + path, { method, headers: { 'X-Api-Key': `key-${nth}.${secret}` } })
              return { nth, id, status, expected: mayCall(row, id) ? 200 : 403 }
            }),
          ),
        )

        expect(cells).toHaveLength(180)
        expect(cells.filter(({ status, expected }) => status !== expected)).toEqual([])
        for (const { status } of cells) seen.add(status)
      } finally {
        await gateway.close()
      }
    }),
    { numRuns: 3 },
  )

  expect([...seen].sort()).toEqual([200, 403])
})

const mayCall = ({ operations, disabled, isHere }: Row, id: OperationId): boolean =>
  !disabled && isHere && (operations === 'all' || operations.includes(id))
