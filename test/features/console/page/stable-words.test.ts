/** Screen readers hear new findings, and no changed numbers. */
import { expect, test } from 'vitest'

// A file for browsers, which TypeScript does not look into from here.
const file = new URL('../../../../src/features/console/page/assets/sections.js', import.meta.url).href
const { toStableWords }: { toStableWords(words: string): string } = await import(file)

test.each([
  [
    '30 % of the responses of http://risk-b break the contract since 09:58:01 (12 of 40 in the last 5 minutes)',
    '0.4 % of the responses of http://risk-b break the contract since 09:58:01 (4 of 1000 in the last 5 minutes)',
  ],
  [
    'the event loop is 34ms late, over limits.eventLoopDelay (20ms), so new requests are rejected',
    'the event loop is 1s late, over limits.eventLoopDelay (20ms), so new requests are rejected',
  ],
  ['it is ejected until 2026-11-23T10:00:07.400Z, after 7', 'it is ejected until 2026-11-23T10:00:12Z, after 12'],
  ['what waits is 2.5 MiB of 64MiB; 3 were rejected', 'what waits is 800 KiB of 64MiB; 40 were rejected'],
])('a finding whose numbers have changed is the same: %s', (before, after) => {
  expect(toStableWords(`warning ${after}`)).toBe(toStableWords(`warning ${before}`))
})

test.each([
  ['http://risk-1:8080 is down', 'http://risk-2:8080 is down'],
  ['http://10.0.0.1 is down', 'http://10.0.0.2 is down'],
  ['the last one of 192.0.2.7', 'the last one of 192.0.2.8'],
  ['worker 1 does not reply', 'worker 2 does not reply'],
  ['the event loop of worker 1 is up to 34ms late', 'the event loop of worker 2 is up to 34ms late'],
  ['every request gets a 4xx of its own', 'every request gets a 5xx of its own'],
])('one about something else is another: %s', (one, other) => {
  expect(toStableWords(`warning ${other}`)).not.toBe(toStableWords(`warning ${one}`))
})
