import { globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const tests = '{test,tools}/**/*.test.ts'
const drills = '{test,tools}/**/*.drill.ts'

/**
 * Node itself loads what is tested, as it does where the gateway runs, and from its cache of compiled code. Vite's module
 * runner, which transforms each file first, replaces modules: the project `alone` needs it.
 */
const loadedByNode = { viteModuleRunner: false, nodeLoader: false }

// Hundreds of gateways and commands are started as processes: they compile the sources once.
const env = { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/tests', import.meta.url)) }

const filesWith = (pattern: RegExp, files = tests): readonly string[] =>
  globSync(files).filter((file) => pattern.test(readFileSync(file, 'utf8')))

/**
 * The tests that replace a module: in a process of their own, so that no other test meets what is in its place. And those
 * that weigh the process: what other tests have left is collected at any time.
 */
const alone = filesWith(/\bvi\.(mock|doMock)\(|\bheldBytes\(\)/)

/** The drills that replace timers: each in a process of its own. */
const drillsFakingTimers = filesWith(/\bvi\.useFakeTimers\(/, drills)

/**
 * `npm test` runs the projects `shared` and `alone`, which prove each behavior once; `npm run test:drills`
 * runs `drills`, `drills-alone` and `node-http2`: what repeats, waits or needs a big program.
 */
export default defineConfig({
  test: {
    // Half of what a test of the wire does is waiting: on two cores, four files at once.
    maxWorkers: 2 * availableParallelism(),
    provide: { speed: 'test' },
    globalSetup: 'test/helpers/run-setup.ts',
    setupFiles: [
      'test/helpers/left-behind.ts',
      'test/helpers/install-features.ts',
      'test/helpers/forget-timers.ts',
      'test/helpers/property-seed.ts',
    ],
    // A machine may be five times as slow as usual: a test or a hook that starts commands takes its time there.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A fact that is waited for comes when the machine has time for it.
    expect: { poll: { timeout: 40_000 } },
    env,
    projects: [
      {
        extends: true,
        test: {
          name: 'shared',
          include: [tests],
          exclude: [...alone],
          isolate: false,
          experimental: loadedByNode,
        },
      },
      { extends: true, test: { name: 'alone', include: [...alone] } },
      {
        extends: true,
        test: {
          name: 'drills',
          include: [drills],
          exclude: [...drillsFakingTimers],
          isolate: false,
          provide: { speed: 'drill' },
          experimental: loadedByNode,
        },
      },
      {
        // As long as Node's codec of HTTP/2 is the way back, it has these tests a second time.
        extends: true,
        test: {
          name: 'node-http2',
          include: ['test/features/http2/wire/*.test.ts'],
          isolate: false,
          env: { ...env, HTTP2_CODEC: 'node' },
          experimental: loadedByNode,
        },
      },
      {
        extends: true,
        test: {
          name: 'drills-alone',
          include: [...drillsFakingTimers],
          provide: { speed: 'drill' },
          experimental: loadedByNode,
        },
      },
    ],
  },
})
