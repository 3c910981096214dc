/** The operators: they edit the file and give commands, and their machine ends processes. */
import { setTimeout as pause } from 'node:timers/promises'
import { fetchAdmin } from '../../test/helpers/live-gateway.ts'
import type { Disturbances } from './disturbances.ts'
import type { SoakedGateway } from './gateway.ts'
import type { Site } from './site.ts'
import { type Ongoing, ongoing } from './traffic.ts'

const editEveryMs = 3000

/** Edits the file: moves groups to other endpoints, and every third time writes what must be rejected. */
export const editing = (gateway: SoakedGateway, site: Site, disturbances: Disturbances): Ongoing => {
  let arrangement = 0
  let nth = 0
  const sound = (): string => site.configuration(arrangement)
  const wrong = [
    () => 'upstreams: [',
    () => sound().replace('valuation', 'valuatoin'),
    () => site.configuration(0, true),
  ]
  const doing = ongoing(1, editEveryMs, async () => {
    const isWrong = nth % 3 === 2
    arrangement = isWrong ? arrangement : (arrangement + 1) % site.arrangements
    // An edit disturbs no request: it is counted, and explains nothing.
    disturbances.begin(isWrong ? 'a bad edit' : 'an edit', 'all', [], 0)()
    gateway.edit(isWrong ? (wrong[Math.floor(nth / 3) % wrong.length] as () => string)() : sound())
    nth++
  })
  return {
    async stop() {
      await doing.stop()
      gateway.edit(site.configuration(0))
    },
  }
}

/** Takes an operation out of service for a moment, again and again. */
export const operatorCommands = ({ admin }: SoakedGateway, disturbances: Disturbances): Ongoing =>
  ongoing(1, 4000, async () => {
    const operation = 'inventory.sync'
    const over = disturbances.begin('the kill switch', 'inventory', ['503 rejected-by-operator'], 0)
    await command(`${admin}/operations/reject`, { operation, ttl: '1m' })
    await pause(1000)
    await command(`${admin}/operations/serve`, { operation })
    over()
  })

const command = async (url: string, body: object): Promise<void> => {
  const { status } = await fetchAdmin(url, 'POST', { body: JSON.stringify(body) })
  if (status !== 200) throw new Error(`${url} says ${status}`)
}

interface WorkerEntry {
  readonly pid: number | null
  readonly state: string
  readonly startedAt: string | null
}

/**
 * Kills the newest worker when all of them serve, again and again: the others live to show their heaps. What it had
 * under way is cut, and what was on its way to it.
 */
export const killing = (gateway: SoakedGateway, disturbances: Disturbances): Ongoing =>
  ongoing(1, 15_000, async () => {
    const { body } = await fetchAdmin(`${gateway.admin}/status`)
    const workers = body.workers as unknown as readonly WorkerEntry[]
    if (workers.some(({ state }) => state !== 'serving')) return // it is started again a little later each time
    const [newest] = workers.toSorted((a, b) => ((a.startedAt ?? '') < (b.startedAt ?? '') ? 1 : -1))
    if (newest === undefined || newest.pid === null) return
    const over = disturbances.begin('worker killed', 'all', ['cut'], 250)
    process.kill(newest.pid, 'SIGKILL')
    over()
  })
