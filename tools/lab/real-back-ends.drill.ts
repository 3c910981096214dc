import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { needProgram } from '../../test/helpers/program.ts'
import { drill, type Plan } from './real-back-ends/drill.ts'
import { servers } from './real-back-ends/servers.ts'

// Those whose programs other tests want as well.
const found = await Promise.all(
  servers
    .slice(0, 4)
    .map(async (server) => ({ server, name: server.name, program: await needProgram(server.program) })),
)

const place = mkdtempSync(join(tmpdir(), 'back-ends-'))
afterAll(() => rmSync(place, { recursive: true }))

// More than a hundred, so that there is a pause, in which the server has closed what is idle: long before, on a slow
// machine too, or the test would depend on luck.
const plan: Plan = { requests: 120, pauseMs: () => 2000, parent: place }

describe('every byte goes both ways as it was sent', () => {
  for (const { server, name, program } of found)
    test.skipIf(program.missing)(`with ${name} behind the gateway`, async () => {
      const tally = await drill(server, program.path ?? '', plan)

      expect(tally).toMatchObject({ requests: plan.requests, failures: 0, mismatches: 0, wrong: '' })
    })
})
