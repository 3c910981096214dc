/**
 * Mutation testing of the parts that matter: `node tools/mutation/run.ts [--mutants N] [--seed N] [--sources GLOB]
 * [--file FILE] [--folder FOLDER] [TESTS…]`. Draws mutants by a fixed seed, runs the tests once to learn which file
 * meets which mutant, and then, for each mutant, at most 30 of those files until one fails: the fastest first, and
 * before them those that bear the name of its source. Prints the survivors and how many were killed. `--sources`:
 * instead of the parts that matter. `--folder`: where the copy is, which then stays: a run that was ended goes on
 * there. TESTS: folders or files, default all.
 */
import { execFileSync, spawn } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { findMutants, type Mutant, writeMutants } from './mutants.ts'

const root = join(import.meta.dirname, '../..')

const partsThatMatter: Readonly<Record<string, string>> = {
  'validate-request': 'src/core/downstream/request/validate-request.ts',
  'requests of HTTP/1': 'src/core/{downstream/http1/request-*,exchange/http1/*}.ts',
  'responses of HTTP/1': 'src/core/upstream/http1/response-*.ts',
  'cache policy': 'src/features/cache/policy/*.ts',
  'jwt-verifier': 'src/features/auth/tokens/jwt/*.ts',
  dpop: 'src/features/auth/tokens/{dpop,replay-cache}*.ts',
  idempotency: 'src/features/idempotency/**/*.ts',
  retry: 'src/features/retry/*.ts',
  'config load': 'src/core/config/load/*.ts',
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sources: { type: 'string' },
    mutants: { type: 'string', default: '400' },
    seed: { type: 'string', default: '1' },
    file: { type: 'string' },
    folder: { type: 'string' },
  },
})

const parts = values.sources === undefined ? partsThatMatter : { [values.sources]: values.sources }

interface Drawn extends Mutant {
  readonly id: number
  readonly part: string
  readonly file: string
  readonly line: number
}

const generator = (seed: number) => (): number => {
  seed = (seed + 0x6d2b79f5) | 0
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
}

/** Draws as many of each part; the ids are in the order of parts, files and places. */
const draw = (count: number, seed: number): readonly Drawn[] => {
  const random = generator(seed)
  const drawn = Object.entries(parts).flatMap(([part, pattern], index, { length }) => {
    const all = globSync(pattern, { cwd: root })
      .sort()
      .flatMap((file) => {
        const source = readFileSync(join(root, file), 'utf8')
        return findMutants(source).map((mutant) => {
          const line = source.slice(0, mutant.start).split('\n').length
          return { ...mutant, part, file, line }
        })
      })
    const share = Math.floor(((index + 1) * count) / length) - Math.floor((index * count) / length)
    const picked = all
      .map((mutant, order) => ({ mutant, order, by: random() }))
      .sort((a, b) => a.by - b.by)
      .slice(0, share)
    return picked.sort((a, b) => a.order - b.order).map(({ mutant }) => mutant)
  })
  return drawn.map((mutant, id) => ({ ...mutant, id }))
}

/** Copies the work tree, with all mutants in it, each asleep. */
const copyWith = (mutants: readonly Drawn[], folder: string): void => {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
  for (const file of listed.trim().split('\n')) cpSync(join(root, file), join(folder, file))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const [file, within] of Map.groupBy(mutants, ({ file }) => file)) {
    const text = writeMutants(readFileSync(join(root, file), 'utf8'), within ?? [])
    writeFileSync(join(folder, file), text)
  }
  writeFileSync(
    join(folder, 'mutation-preload.mjs'),
    `import { appendFileSync } from 'node:fs'
const active = Number(process.env.MUTANT ?? -1)
const seen = new Set()
const folder = process.env.MUTATION_SEEN
globalThis.mutant = folder === undefined ? (id) => id === active : (id) => {
  const key = (globalThis.mutationTest ?? process.env.MUTATION_TEST ?? '') + '\\t' + id
  if (!seen.has(key)) {
    seen.add(key)
    appendFileSync(folder + '/' + process.pid, key + '\\n')
  }
  return false
}
`,
  )
  writeFileSync(
    join(folder, 'mutation-setup.ts'),
    `import { beforeAll, beforeEach } from 'vitest'
const note = (file) => {
  Object.assign(globalThis, { mutationTest: file })
  process.env.MUTATION_TEST = file
}
beforeAll(({}, { file }) => note(file.filepath))
beforeEach(({ task }) => note(task.file.filepath))
`,
  )
  writeFileSync(
    join(folder, 'mutation-order.ts'),
    `import { BaseSequencer, type TestSpecification } from 'vitest/node'

export class AsGiven extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => process.argv.indexOf(moduleId)
    return files.toSorted((a, b) => place(a) - place(b))
  }
}
`,
  )
  const config = join(folder, 'vitest.config.ts')
  writeFileSync(
    config,
    `import { AsGiven } from './mutation-order.ts'\n${readFileSync(config, 'utf8')}`
      .replace('defineConfig({\n  test: {', 'defineConfig({\n  test: {\n    sequence: { sequencer: AsGiven },')
      .replaceAll("'test/helpers/install-features.ts'", "'mutation-setup.ts', 'test/helpers/install-features.ts'"),
  )
}

/** Tells whether every test passed. */
const runTests = (
  folder: string,
  files: readonly string[],
  env: object,
  patienceMs: number,
  ...options: readonly string[]
): Promise<boolean> =>
  new Promise((resolve) => {
    const projects = ['shared', 'alone'].flatMap((name) => ['--project', name])
    const words = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...projects, ...options, ...files]
    const child = spawn(process.execPath, words, {
      cwd: folder,
      detached: true,
      stdio: 'ignore',
      env: { ...process.env, ...env, NODE_OPTIONS: `--import ${join(folder, 'mutation-preload.mjs')}` },
    })
    // A mutant that loops forever is found out by the time.
    const timer = setTimeout(() => process.kill(-(child.pid ?? 0), 'SIGKILL'), patienceMs)
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve(code === 0)
    })
  })

const hourMs = 3_600_000

const maxFiles = 30

/** Runs every test once, and returns how long each file took that was green, in milliseconds, and which it meets. */
const learn = async (folder: string) => {
  const seenFolder = join(folder, 'mutation-seen')
  const report = join(folder, 'mutation-report.json')
  if (!existsSync(report)) {
    console.error('every test once …')
    mkdirSync(seenFolder, { recursive: true })
    const words = ['--reporter=json', `--outputFile=${report}`]
    await runTests(folder, positionals, { MUTATION_SEEN: seenFolder }, hourMs, ...words)
  }
  const results: readonly {
    readonly name: string
    readonly status: string
    readonly startTime: number
    readonly endTime: number
  }[] = JSON.parse(readFileSync(report, 'utf8')).testResults
  const green = new Map(
    results.filter(({ status }) => status === 'passed').map((each) => [each.name, each.endTime - each.startTime]),
  )
  console.error(`${green.size} of ${results.length} files of tests are green without a mutant`)
  const meets = new Map<number, Set<string>>()
  for (const process of readdirSync(seenFolder))
    for (const line of readFileSync(join(seenFolder, process), 'utf8').split('\n')) {
      const [file = '', id] = line.split('\t')
      if (id === undefined || !green.has(file)) continue
      meets.set(Number(id), (meets.get(Number(id)) ?? new Set()).add(file))
    }
  return { green, meets }
}

type Outcome = 'killed' | 'survived' | 'met by no test'

/** Runs the tests that meet a mutant. */
const judge = async (
  mutant: Drawn,
  folder: string,
  { green, meets }: Awaited<ReturnType<typeof learn>>,
): Promise<Outcome> => {
  const durationOf = (file: string): number => green.get(file) ?? 0
  // What a module does when it is loaded is met by the first file of a worker alone: those of its name count too.
  const named = [...green.keys()].filter((file) => basename(file).startsWith(basename(mutant.file, '.ts')))
  const files = [...new Set([...named, ...(meets.get(mutant.id) ?? [])])]
    .sort((a, b) => Number(named.includes(b)) - Number(named.includes(a)) || durationOf(a) - durationOf(b))
    .slice(0, maxFiles)
  if (files.length === 0) return 'met by no test'
  const usualMs = files.reduce((sum, file) => sum + durationOf(file), 0)
  const env = { MUTANT: `${mutant.id}` }
  const isGreen = await runTests(folder, files, env, 60_000 + 5 * usualMs, '--bail=1', '--maxWorkers=1')
  return isGreen ? 'survived' : 'killed'
}

const main = async (): Promise<void> => {
  const mutants = draw(Number(values.mutants), Number(values.seed))
  const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'mutation-'))
  try {
    if (!existsSync(join(folder, 'mutation-order.ts'))) copyWith(mutants, folder)
    const learned = await learn(folder)
    const outcomesFile = join(folder, 'mutation-outcomes.txt')
    appendFileSync(outcomesFile, '')
    const lines = readFileSync(outcomesFile, 'utf8').split('\n').slice(0, -1)
    const outcomes = new Map(lines.map((line) => line.split('\t')).map(([id, outcome]) => [Number(id), outcome]))
    const waiting = mutants.filter(({ id }) => !outcomes.has(id))
    const work = async (): Promise<void> => {
      for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
        const outcome = await judge(mutant, folder, learned)
        outcomes.set(mutant.id, outcome)
        appendFileSync(outcomesFile, `${mutant.id}\t${outcome}\n`)
        if (outcomes.size % 20 === 0) console.error(`${outcomes.size} of ${mutants.length}`)
      }
    }
    // Half of what they do is waiting.
    await Promise.all(Array.from({ length: 2 * availableParallelism() }, work))
    const alive = mutants.filter(({ id }) => outcomes.get(id) !== 'killed')
    const text = [
      ...alive.map(({ id, file, line, what }) => `${file}:${line} ${what}: ${outcomes.get(id)}`),
      '',
      ...Object.keys(parts).map((part) => {
        const of = mutants.filter((mutant) => mutant.part === part)
        return `${part}: ${of.filter((mutant) => !alive.includes(mutant)).length} of ${of.length}`
      }),
      `killed ${mutants.length - alive.length} of ${mutants.length}`,
    ].join('\n')
    console.log(text)
    if (values.file !== undefined) writeFileSync(values.file, `${text}\n`)
  } finally {
    if (values.folder === undefined) rmSync(folder, { recursive: true })
  }
}

await main()
