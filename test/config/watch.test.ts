import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { namesByFolder } from '../../src/config/folders.ts'
import { Watch } from '../../src/config/watch.ts'

const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), 'watch-'))
  onTestFinished(() => rmSync(made, { recursive: true }))
  return made
}

const contents = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return 'gone'
  }
}

const unpolled = { watch: true, pollMs: null }

/** Watches a file and tells what it held each time that a change was noticed. */
const watched = (file: string, pollMs: number | null = null) => {
  let read = contents(file)
  const seen: string[] = []
  const waiting: (() => void)[] = []
  const watch = new Watch({
    files: () => [file],
    changed: async () => contents(file) !== read,
    reading: () => false,
    onChange: () => {
      read = contents(file)
      seen.push(read)
      for (const tell of waiting.splice(0)) tell()
    },
  })
  watch.follow({ watch: true, pollMs })
  onTestFinished(() => watch.close())
  return {
    watch,
    seen,
    /** Waits until the change to `wanted` has been noticed. */
    notices: async (wanted: string): Promise<void> => {
      while (seen.at(-1) !== wanted) await new Promise<void>((resolve) => waiting.push(resolve))
    },
  }
}

describe('a change is noticed', () => {
  test('when the file is written in place, again and again', async () => {
    const file = join(folder(), 'gateway.yaml')
    writeFileSync(file, 'one')
    const { notices } = watched(file)

    writeFileSync(file, 'two')
    await notices('two')
    writeFileSync(file, 'three')
    await notices('three')
  })

  test('when another file is renamed over it', async () => {
    const file = join(folder(), 'gateway.yaml')
    writeFileSync(file, 'one')
    const { notices } = watched(file)

    for (const text of ['two', 'three']) {
      writeFileSync(`${file}.new`, text)
      renameSync(`${file}.new`, file)
      await notices(text)
    }
  })

  test('when it is removed, and when it is there again', async () => {
    const file = join(folder(), 'gateway.yaml')
    writeFileSync(file, 'one')
    const { notices } = watched(file)

    unlinkSync(file)
    await notices('gone')
    writeFileSync(file, 'two')
    await notices('two')
  })

  test('when a link on the way to it leads elsewhere, as with a ConfigMap of Kubernetes', async () => {
    const mount = folder()
    const revision = (name: string, text: string): void => {
      mkdirSync(join(mount, name))
      writeFileSync(join(mount, name, 'gateway.yaml'), text)
      symlinkSync(name, join(mount, '..data_tmp'))
      renameSync(join(mount, '..data_tmp'), join(mount, '..data'))
    }
    revision('..2026_1', 'one')
    symlinkSync('..data/gateway.yaml', join(mount, 'gateway.yaml'))
    const { notices } = watched(join(mount, 'gateway.yaml'))

    revision('..2026_2', 'two')
    rmSync(join(mount, '..2026_1'), { recursive: true })
    await notices('two')
    revision('..2026_3', 'three')
    await notices('three')
  })

  test('when the file that a link in another folder leads to is written', async () => {
    const [etc, elsewhere] = [folder(), folder()]
    writeFileSync(join(elsewhere, 'real.yaml'), 'one')
    symlinkSync(join(elsewhere, 'real.yaml'), join(etc, 'gateway.yaml'))
    const { notices } = watched(join(etc, 'gateway.yaml'))

    writeFileSync(join(elsewhere, 'real.yaml'), 'two')

    await notices('two')
  })

  test('by its contents alone where nothing tells of it: written through another name, as behind a mount', async () => {
    const [inside, outside] = [folder(), folder()]
    writeFileSync(join(outside, 'gateway.yaml'), 'one')
    linkSync(join(outside, 'gateway.yaml'), join(inside, 'gateway.yaml'))
    const { notices } = watched(join(inside, 'gateway.yaml'), 20)

    writeFileSync(join(outside, 'gateway.yaml'), 'two')

    await notices('two')
  })

  test('when its folder has given its place to another, and then again', async () => {
    const root = folder()
    const [here, aside] = [join(root, 'here'), join(root, 'aside')]
    const place = (text: string): void => {
      mkdirSync(aside)
      writeFileSync(join(aside, 'gateway.yaml'), text)
    }
    place('one')
    renameSync(aside, here)
    const { notices } = watched(join(here, 'gateway.yaml'))
    writeFileSync(join(here, 'gateway.yaml'), 'two')
    await notices('two')

    for (const text of ['three', 'five']) {
      place(text)
      renameSync(here, join(root, `before ${text}`))
      renameSync(aside, here)
      await notices(text)
      writeFileSync(join(here, 'gateway.yaml'), `${text} and one`)
      await notices(`${text} and one`)
    }
  })

  test('when its folder did not exist at first', async () => {
    const file = join(folder(), 'later', 'gateway.yaml')
    const { notices } = watched(file, 20)

    mkdirSync(dirname(file))
    writeFileSync(file, 'one')

    await notices('one')
  })
})

test('nothing is told of other files in the folder, nor of a save that changes nothing', async () => {
  const file = join(folder(), 'gateway.yaml')
  writeFileSync(file, 'one')
  const { seen, notices } = watched(file)

  writeFileSync(`${file}.swp`, 'an editor’s')
  writeFileSync(file, 'one')
  writeFileSync(file, 'two')
  await notices('two')

  expect(seen).toEqual(['two'])
})

test('a file that is another each time it is read, as in /proc, is not read without end', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  let reads = 0
  const onChange = (): void => {
    reads++
    watch.caughtUp()
  }
  const file = join(folder(), 'gateway.yaml')
  const watch = new Watch({ files: () => [file], changed: async () => true, reading: () => false, onChange })
  watch.follow(unpolled)
  onTestFinished(() => watch.close())

  await vi.advanceTimersByTimeAsync(60_000)

  expect(reads).toBe(1)
})

describe('the names that decide what a file holds', () => {
  const listed = (...files: string[]) =>
    Object.fromEntries([...namesByFolder(files)].map(([at, names]) => [at, [...names]]))

  test('are its own and that of each link on the way', () => {
    const root = folder()
    mkdirSync(join(root, 'v1'))
    writeFileSync(join(root, 'v1', 'a.yaml'), '')
    symlinkSync('v1', join(root, 'data'))
    symlinkSync('data/a.yaml', join(root, 'a.yaml'))

    expect(listed(join(root, 'a.yaml'))).toEqual({ [root]: ['a.yaml', 'data'], [join(root, 'v1')]: ['a.yaml'] })
  })

  test('end where links lead in a circle', () => {
    const root = folder()
    symlinkSync('b', join(root, 'a'))
    symlinkSync('a', join(root, 'b'))

    expect(listed(join(root, 'a'))).toEqual({ [root]: ['a', 'b'] })
  })

  test('include one that is not there', () => {
    const root = folder()

    expect(listed(join(root, 'x', 'y'))).toEqual({ [join(root, 'x')]: ['y'] })
  })
})

test('a file system that hangs is asked once, and held against nobody when it answers again', async () => {
  const file = join(folder(), 'gateway.yaml')
  const hanging = Promise.withResolvers<boolean>()
  const answered = Promise.withResolvers<void>()
  let asked = 0
  const watch = new Watch({
    files: () => [file],
    changed: () => (++asked === 1 ? hanging.promise : Promise.resolve(true)),
    reading: () => false,
    onChange: () => answered.resolve(),
  })
  watch.follow(unpolled)
  onTestFinished(() => watch.close())

  await expect.poll(() => asked).toBe(1)
  for (const text of ['one', 'two', 'three']) writeFileSync(file, text)
  watch.caughtUp()
  hanging.resolve(false)

  await answered.promise
})

test('what is written while it is off is noticed when it is on again', async () => {
  const file = join(folder(), 'gateway.yaml')
  writeFileSync(file, 'one')
  const { watch, notices, seen } = watched(file, 5)
  const other = watched(file, 5)

  watch.follow({ watch: false, pollMs: 5 })
  writeFileSync(file, 'two')
  await other.notices('two')
  const meanwhile = [...seen]
  watch.follow(unpolled)
  await notices('two')

  expect(meanwhile).toEqual([])
})
