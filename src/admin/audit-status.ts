import type { WriterState } from '../observe/audit/health.ts'
import { time } from './time.ts'

/** Tells where the audit log stands; null: there is none, or another process writes it. */
export const auditStatus = (state: WriterState | null) =>
  state && { ...state, state: state.reason === null ? 'written' : 'failing', since: time(state.since) }
