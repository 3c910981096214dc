import { expect, test } from 'vitest'
import { countSamples } from './perf.ts'
import { barsOf } from './picture.ts'
import { placesOfPerf } from './profile-shares.ts'

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
