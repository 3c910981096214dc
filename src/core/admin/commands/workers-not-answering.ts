import { notAnsweringHint, WorkersNotAnsweringError } from '../../runtime/proxy-server.ts'
import type { AdminError } from '../admin-error.ts'

/** `detail` says what is in effect, and what to do. */
export const workersNotAnswering = (detail: string): AdminError => ({
  status: 503,
  code: 'workers-not-answering',
  detail,
})

/** The error of a command that no process has run: no worker serves just now, or those that did have ended. */
export const noWorkerAnswered = workersNotAnswering('no worker has answered: ask again when one does, or was replaced')

/** Translates the error of a change that is in effect nowhere, as workers have not replied; rethrows any other. */
export const toAdminError = (error: unknown): AdminError => {
  if (!(error instanceof WorkersNotAnsweringError)) throw error
  return workersNotAnswering(`${error.message}: ${notAnsweringHint}`)
}
