import { resolve } from 'node:path'
import { catalog } from '../../catalog.ts'
import { wallClock } from '../../clock.ts'
import type { Report } from '../../snapshot/report.ts'
import type { Desk } from '../desk.ts'
import type { Reading } from './reading.ts'

/** Reads from the desk what findings are made of. `isUnread`: the file holds something else than when it was last read. */
export const readingOf = (desk: Desk, report: Report, isUnread: boolean): Reading => {
  const { config, file, state } = desk.reloader
  return {
    at: wallClock(),
    config,
    file: {
      name: resolve(file),
      differs: state.fileDiffers || isUnread,
      rolledBack: state.loadedBy === 'rollback',
      refusal: state.refusal,
      nextTryAt: state.nextTryAt,
    },
    report,
    recent: recentOf(desk, report),
    said: desk.overrides,
    audit: desk.audit.state,
    workers: desk.workers(),
    notServing: desk.notServing(),
    draining: desk.draining(),
    droppedLines: desk.droppedLines(),
  }
}

const recentOf = ({ history }: Desk, { meter }: Report): Reading['recent'] =>
  meter &&
  (Object.fromEntries(catalog.map(({ id }) => [id, history.recent(id, meter)])) as NonNullable<Reading['recent']>)
