import { flatVerdict } from '../judge-run.ts'
import { none, type Verdict } from '../verdict.ts'
import { type Churn, maxBytes } from './churn.ts'

/** Most bytes that fields, keys and what stands around them count for, beside the body of a response. */
const atMostBeside = 4096

/** Judges what the clients left of a cache. */
export const judgeChurn = (churn: Churn): readonly Verdict[] => {
  const { samples, loadMs, tally, said, found, cleared, saidCleared } = churn
  const resident = samples.map(({ atMs, residentKiB }) => ({ atMs, value: residentKiB }))
  const mostBytes = Math.max(...samples.map(({ bytes }) => bytes))
  const beside = (said.bytes - found.bytes) / said.entries
  const counts = { said: said.entries, found: found.entries, cleared }
  return [
    flatVerdict('resident memory', resident, loadMs),
    {
      what: 'bytes that the cache says it has, at any time',
      found: String(mostBytes),
      atMost: String(maxBytes),
      held: mostBytes <= maxBytes,
    },
    {
      what: 'responses stored in the end: as it says, as asked for one by one, as cleared',
      found: Object.values(counts).join(', '),
      atMost: 'the same',
      held: new Set(Object.values(counts)).size === 1 && said.entries > 0,
    },
    {
      what: 'bytes that it says, less those of the bodies found, a response',
      found: beside.toFixed(0),
      atMost: `${atMostBeside}, and not below 0`,
      held: beside >= 0 && beside <= atMostBeside,
    },
    {
      what: 'responses and bytes that it says when all is cleared',
      found: `${saidCleared.entries}, ${saidCleared.bytes}`,
      atMost: '0, 0',
      held: saidCleared.entries === 0 && saidCleared.bytes === 0,
    },
    none('descriptors, handles and timers more or less than before', churn.left),
    none(`of ${tally.requests} requests, got something other than what they asked for`, tally.wrong),
    none('log lines of level error, or words on stderr', [...new Set(churn.complaints)]),
    { what: 'exit code on SIGTERM', found: String(churn.exitCode), atMost: '0', held: churn.exitCode === 0 },
  ]
}
