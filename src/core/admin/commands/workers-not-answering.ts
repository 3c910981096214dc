import { notAnsweringHint, WorkersNotAnsweringError } from '../../runtime/proxy-server.ts'
import type { AdminError } from '../admin-error.ts'

export const workersNotAnswering = (detail: string): AdminError => ({
  status: 503,
  code: 'workers-not-answering',
  detail,
})

/** No worker serves, or the serving workers ended. */
export const noWorkerAnswered = workersNotAnswering('no worker has answered: ask again when one does, or was replaced')

/** Rethrows other errors. */
export const toAdminError = (error: unknown): AdminError => {
  if (!(error instanceof WorkersNotAnsweringError)) throw error
  return workersNotAnswering(`${error.message}: ${notAnsweringHint}`)
}
