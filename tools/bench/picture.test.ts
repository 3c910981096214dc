import { expect, test } from 'vitest'
import { countSamples } from './perf.ts'
import { barsOf } from './picture.ts'
import { placesOfPerf, placesOfProfile } from './profile-shares.ts'

test('samples of perf are counted by place and divided by owner', () => {
  const script = [
    '  7f01 JS:*send /gateway/src/upstream/send.ts:10:20 (/tmp/perf-1.map)',
    '  7f02 JS:*send /gateway/src/upstream/send.ts:10:20 (/tmp/perf-1.map)',
    "  7f03 JS:*'get socket /gateway/node_modules/@fastify/http-proxy/index.js:3:9 (/tmp/perf-1.map)",
    '  7f04 JS:*write node:net:1:2 (/tmp/perf-1.map)',
    '  7f05 JS:wasm-function[20]-20-turbofan (/tmp/perf-1.map)',
    'ffff06 tcp_ack ([kernel.kallsyms])',
    '  e207 v8::internal::Scavenger::Process (/bin/node)',
    '  e208 v8::internal::compiler::Reduce(int) (/bin/node)',
    '',
  ]

  const bars = barsOf(placesOfPerf(countSamples(script.join('\n'))))

  expect(bars[0]).toEqual({ owner: 'src', share: 0.25, parts: [{ name: 'upstream/', share: 0.25 }] })
  expect(bars.map(({ owner }) => owner).sort()).toEqual([
    '@fastify/http-proxy',
    'Node, JavaScript',
    'V8 compilers',
    'WebAssembly',
    'garbage collection',
    'kernel',
    'src',
  ])
})

test("a profile of V8's counts time by whose function ran, and leaves idle time out", () => {
  const frame = (id: number, functionName: string, url = '') => ({ id, callFrame: { functionName, url } })
  const nodes = [
    frame(1, '(idle)'),
    frame(2, 'send', 'file:///gateway/src/main.ts'),
    frame(3, 'writev'),
    frame(4, '(garbage collector)'),
  ]
  const text = JSON.stringify({ nodes, samples: [1, 2, 3, 2, 4], timeDeltas: [900, 10, 20, 50, 20] })

  const bars = barsOf(placesOfProfile(text))

  expect(bars.map(({ owner, share }) => [owner, share])).toEqual([
    ['src', 0.6],
    ['V8 and native functions', 0.2],
    ['garbage collection', 0.2],
  ])
})
