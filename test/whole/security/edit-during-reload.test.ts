import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { loadConfig } from '../../../src/core/config/load/load-config.ts'
import { loadInThread } from '../../../src/core/config/load/load-in-thread.ts'
import { readStatStamp } from '../../../src/core/config/load/source-files.ts'
import { createFileWatcher } from '../../../src/core/runtime/reload/file-watcher.ts'
import { bootLiveGateway, fetchAdmin } from '../../helpers/live-gateway.ts'

// The attack: edits come faster than reloads. What is written after a file was read and before that is in effect must
// not stay unseen: the gateway would run what the file no longer says, for ever where contents are not polled. Nothing
// here is polled.
vi.mock('../../../src/core/config/load/load-in-thread.ts', () => ({ loadInThread: vi.fn() }))

/** Reads a file, and needs no thread for it. */
const read = async (...[file, environment]: Parameters<typeof loadInThread>) => loadConfig(file, environment)
beforeEach(() => void vi.mocked(loadInThread).mockReset().mockImplementation(read))

/** Does something once, between the next reading of a file and what comes of it. */
const afterReading = (act: () => Promise<void> | void): void => {
  vi.mocked(loadInThread).mockImplementationOnce(async (...told) => {
    const loaded = await read(...told)
    await act()
    return loaded
  })
}

/** Resolves when another watcher of the file has noticed that it is no longer `text`. */
const noticed = (file: string, text: string): Promise<void> =>
  new Promise((resolve) => {
    const changed = async () => readFileSync(file, 'utf8') !== text
    const watch = createFileWatcher({
      stamp: () => readStatStamp([{ file, digest: null, limit: 0 }]),
      reading: () => false,
      changed,
      onChange: () => {
        watch.close()
        setImmediate(resolve)
      },
    })
    watch.configure({ watch: true, poll: null })
  })

const settings = (upstream: string, more: object = {}) => ({ upstream, reload: { poll: 'none' }, ...more })
const [first, second, third] = [settings('http://one.test'), settings('http://two.test'), settings('http://three.test')]
const runs = async (live: Awaited<ReturnType<typeof bootLiveGateway>>, url: string) =>
  expect.poll(async () => JSON.stringify((await fetchAdmin(`${live.admin}/status`)).body)).toContain(`"${url}"`)

describe('an edit', () => {
  test('that comes while the one before it is being put into effect is taken', async () => {
    const live = await bootLiveGateway(first)
    afterReading(() => live.edit(third))

    live.edit(second)
    await live.line(({ msg }) => msg === 'configuration applied')

    await runs(live, third.upstream)
  })

  test('that is taken back while it is read is taken back', async () => {
    const live = await bootLiveGateway(first)
    const before = readFileSync(live.file, 'utf8')
    afterReading(async () => {
      const seen = noticed(live.file, readFileSync(live.file, 'utf8'))
      writeFileSync(live.file, before)
      await seen
    })

    live.edit(second)
    const { to } = await live.line(({ msg }) => msg === 'configuration applied')
    await live.line(({ from }) => from === to)

    await runs(live, first.upstream)
  })

  test('that mends what a rejected one lacked is taken', async () => {
    const live = await bootLiveGateway(first)
    const request = { set: { 'X-Key': 'file:secrets/key' } }
    mkdirSync(join(live.folder, 'secrets'))
    live.edit(settings(first.upstream, { upstreams: { market: { endpoints: ['http://four.test'], request } } }))
    await live.line(({ msg }) => msg === 'configuration problem')

    writeFileSync(join(live.folder, 'secrets', 'key'), 'a secret')

    await runs(live, 'http://four.test')
  })
})
