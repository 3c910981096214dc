import type { Log } from './log.ts'

/** Has the process end with 1 when nobody catches an error, once the log has it. `fields` say whose it is. */
export const exitWhenUncaught = (
  log: Log,
  closeLog: () => Promise<void>,
  fields: Readonly<Record<string, unknown>> = {},
): void => {
  process.on('uncaughtException', (error) => {
    log.fatal({ ...fields, err: error }, 'uncaught error')
    void closeLog().finally(() => process.exit(1))
  })
}
