import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readStatStamp } from '../../../../src/core/config/load/source-files.ts'
import { createFileWatcher } from '../../../../src/core/runtime/reload/file-watcher.ts'

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

/** Watches a file and records its contents each time that a change is noticed. */
const watchFile = (file: string, poll: number | null = null) => {
  let read = contents(file)
  const seen: string[] = []
  const waiting: (() => void)[] = []
  const watch = createFileWatcher({
    stamp: () => readStatStamp([{ file, digest: null, limit: 0 }]),
    changed: async () => contents(file) !== read,
    reading: () => false,
    onChange: () => {
      read = contents(file)
      seen.push(read)
      for (const notify of waiting.splice(0)) notify()
    },
  })
  watch.configure({ watch: true, poll })
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

/** Watches a file of the text `one` in a folder of its own. */
const watchOne = (poll: number | null = null) => {
  const file = join(folder(), 'gateway.yaml')
  writeFileSync(file, 'one')
  return { file, ...watchFile(file, poll) }
}

describe('a change is noticed', () => {
  test('when the file is written in place, and when another file is renamed over it, again and again', async () => {
    const { file, notices } = watchOne()

    for (const text of ['two', 'three']) {
      writeFileSync(file, text)
      await notices(text)
    }
    for (const text of ['four', 'five']) {
      writeFileSync(`${file}.new`, text)
      renameSync(`${file}.new`, file)
      await notices(text)
    }
  })

  test('when it is removed, and when it is back', async () => {
    const { file, notices } = watchOne()

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
    const { notices } = watchFile(join(mount, 'gateway.yaml'))

    revision('..2026_2', 'two')
    rmSync(join(mount, '..2026_1'), { recursive: true })
    await notices('two')
    revision('..2026_3', 'three')
    await notices('three')
  })

  test.each([
    ['which a link in another folder leads to', symlinkSync],
    ['which has another name, as behind a mount', linkSync],
  ])('when the file is written %s', async (_, link) => {
    const [etc, elsewhere] = [folder(), folder()]
    writeFileSync(join(elsewhere, 'real.yaml'), 'one')
    link(join(elsewhere, 'real.yaml'), join(etc, 'gateway.yaml'))
    const { notices } = watchFile(join(etc, 'gateway.yaml'))

    writeFileSync(join(elsewhere, 'real.yaml'), 'two')

    await notices('two')
  })

  test('when as many bytes are written and the time of the last write is put back', async () => {
    const { file, notices } = watchOne()
    const { atime, mtime } = statSync(file)

    writeFileSync(file, 'two')
    utimesSync(file, atime, mtime)

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
    const { notices } = watchFile(join(here, 'gateway.yaml'))
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
    const { notices } = watchFile(file)

    mkdirSync(dirname(file))
    writeFileSync(file, 'one')

    await notices('one')
  })
})

test('other files in the folder are no change, nor is a save that changes nothing', async () => {
  const { file, seen, notices } = watchOne()

  writeFileSync(`${file}.swp`, 'an editor’s')
  writeFileSync(file, 'one')
  writeFileSync(file, 'two')
  await notices('two')

  expect(seen).toEqual(['two'])
})

test('a write while the watcher is off is noticed when it is on again', async () => {
  const { file, watch, notices, seen } = watchOne(5)
  const other = watchFile(file, 5)

  watch.configure({ watch: false, poll: 5 })
  writeFileSync(file, 'two')
  await other.notices('two')
  const meanwhile = [...seen]
  watch.configure({ watch: true, poll: null })
  await notices('two')

  expect(meanwhile).toEqual([])
})
